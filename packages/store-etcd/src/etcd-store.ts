import type { Policy } from '@baton-lock/core'
import type { OpenStoreOptions } from '@baton-lock/store/kind'
import { Attempts, type Backend, openRemoteStore } from '@baton-lock/store/remote'
import type { Clock, Store } from '@baton-lock/store/store'
import { systemTiming, type Timing } from '@baton-lock/store/timing'
import { EtcdBackend } from './backend.ts'
import { openEtcd } from './client/index.ts'
import type { Etcd } from './etcd.ts'
import { targetOf } from './etcd-url.ts'
import { isNobodyThere, judge, sure } from './failures.ts'
import { Keys } from './keys.ts'
import { isNotThere } from './transaction/comparisons.ts'
import { foundIn } from './transaction/found.ts'
import { FORMAT, knownMeta, type Meta } from './upkeep/store-state.ts'
import { refuseUnfit } from './upkeep/version-check.ts'

/** All but the URL and the clock has a default. */
export interface EtcdStoreOptions extends Pick<OpenStoreOptions, 'onFound' | 'onSession'> {
  readonly url: string
  /** What this process counts deadlines by, each from when it saw it. */
  readonly clock: Clock
  /** The first process writes it down; every later one must be configured alike. Absent: whatever is stored counts. */
  readonly policy?: Policy
  readonly timing?: Timing
  /** Every step is written to a key of its own too, in its own transaction. */
  readonly recordHistory?: boolean
  /** In place of the client, around it. */
  readonly around?: (etcd: Etcd) => Etcd
}

/** Keeps everything in etcd, which any number of processes share. */
export async function openEtcdStore(options: EtcdStoreOptions): Promise<Store> {
  const { timing = systemTiming, policy, recordHistory, onSession } = options
  const backend = await openEtcdBackend(options)
  try {
    return await openRemoteStore(backend, { timing, policy, recordHistory, onSession })
  } catch (error) {
    await backend.close()
    throw error
  }
}

/** etcd by itself, ready for the engine of remote stores. */
export async function openEtcdBackend(options: EtcdStoreOptions): Promise<Backend> {
  const { url, clock, timing = systemTiming, around = (etcd) => etcd, onFound } = options
  const target = targetOf(url)
  const etcd = around(openEtcd(target, timing))
  const keys = new Keys(target.prefix)
  const start = async () => {
    const members = await etcd.status()
    const { areLeasesExact } = refuseUnfit(members)
    // All that is written goes through the leader: by way of another member it takes longer.
    const leader = members.find(({ isLeader }) => isLeader)
    if (leader) etcd.prefer(leader.endpoint)
    const { meta, isNew } = await begin(etcd, keys, timing)
    onFound?.({ at: target.name, isNew })
    const { compactMs } = target
    const backend = new EtcdBackend({ etcd, keys, clock, timing, storeId: meta.id, compactMs, areLeasesExact })
    await backend.start()
    return backend
  }
  try {
    // One that is there, but busy or without a leader, is waited for.
    const judgeStart = (error: unknown) => (isNobodyThere(error) ? 'final' : judge(error))
    const attempts = new Attempts({ timing, judge: judgeStart })
    return await sure(attempts.run(start))
  } catch (error) {
    await etcd.close()
    throw error
  }
}

/** Makes the store where there is none yet. */
export async function begin(
  etcd: Etcd,
  keys: Keys,
  timing: Timing,
): Promise<{ readonly meta: Meta; readonly isNew: boolean }> {
  const first: Meta = { format: FORMAT, id: timing.uniqueName(), policyVersion: 0, floor: 0 }
  const { succeeded, outcomes } = await etcd.txn({
    compare: [isNotThere(keys.meta)],
    success: [{ put: { key: keys.meta, value: JSON.stringify(first) } }],
    failure: [{ range: { key: keys.meta } }],
  })
  return { meta: succeeded ? first : knownMeta(foundIn(outcomes[0]).kvs[0]!.value, keys), isNew: succeeded }
}
