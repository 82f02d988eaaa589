import { setTimeout as pause } from 'node:timers/promises'
import type { Baton, ConnectOptions } from '../../client/api.ts'
import { Client } from '../../client/client.ts'
import { systemClientClock } from '../../client/clock.ts'
import { InProcessTransport } from '../../client/in-process.ts'
import { systemRandom } from '../../client/random.ts'
import type { Policy } from '../../core/index.ts'
import { Service } from '../../service/index.ts'
import { PolicyMismatch } from '../../stores/remote/index.ts'
import { type Store, StoreUnavailable, UnknownOutcome } from '../../stores/store.ts'
import { openStore } from '../../stores/table.ts'
import { machineMs } from '../journal.ts'
import { openServerHistory } from '../server-history.ts'

export interface LibraryOptions {
  /** The store's URL. */
  readonly store: string
  readonly policy: Policy
  /** Where all that the store does is written down. */
  readonly journal: string
}

const AGAIN_MS = 200

/** What `open()` makes of a store. */
export function libraryClient(store: Store, options: ConnectOptions): Baton {
  const transport = new InProcessTransport(async () => new Service({ store }))
  const notice = options.onNotice ?? (() => {})
  return new Client(transport, { clock: systemClientClock(), notice, random: systemRandom }, options)
}

/** Tries until the store is there: it may be away just now. Nothing where that was given up. */
export async function openLibraryStore(
  { store: url, policy, journal }: LibraryOptions,
  signal?: AbortSignal,
): Promise<Store | undefined> {
  const history = openServerHistory(journal, machineMs)
  const options = { clock: { nowMs: machineMs }, policy, isPolicyChosen: true, onStep: history.onStep }
  while (!signal?.aborted) {
    try {
      return history.of(await openStore(url, options), { answers: true })
    } catch (error) {
      const isAway = error instanceof StoreUnavailable || error instanceof UnknownOutcome
      if (!isAway || error instanceof PolicyMismatch) throw error
      await pause(AGAIN_MS, undefined, { signal }).catch(() => {})
    }
  }
  return undefined
}
