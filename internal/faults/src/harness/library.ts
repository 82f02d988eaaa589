import { setTimeout as pause } from 'node:timers/promises'
import type { Baton, ConnectOptions } from '@baton-lock/client/api'
import { Client } from '@baton-lock/client/client'
import { systemClientClock } from '@baton-lock/client/clock'
import { systemRandom } from '@baton-lock/client/random'
import type { Policy } from '@baton-lock/core'
import { Service } from '@baton-lock/service'
import { PolicyMismatch } from '@baton-lock/store/remote'
import { type Store, StoreUnavailable, UnknownOutcome } from '@baton-lock/store/store'
import { InProcessTransport } from 'baton-lock/in-process'
import { openStore } from 'baton-lock/store-table'
import { machineMs } from '../history/journal.ts'
import { openServerHistory } from '../history/server-history.ts'

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
