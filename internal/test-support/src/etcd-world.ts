import { type EtcdCluster, startEtcd } from '@baton-lock/faults/harness/etcd'
import { sleep } from '@baton-lock/faults/harness/link'
import { SimulatedClock } from '@baton-lock/store/conformance/simulated-clock'
import type { Store } from '@baton-lock/store/store'
import { systemTiming } from '@baton-lock/store/timing'
import { openEtcdStore } from '@baton-lock/store-etcd'
import { openEtcd } from '@baton-lock/store-etcd/client'
import type { Etcd, EtcdError, KeyValue, TxnResult, WatchEvent, Watched } from '@baton-lock/store-etcd/etcd'
import { targetOf } from '@baton-lock/store-etcd/etcd-url'
import { afterAll, afterEach, beforeAll, beforeEach, onTestFinished } from 'vitest'
import { ClockedLeases } from './clocked-etcd.ts'

export const nowMs = () => systemTiming.monoMs()

/** An etcd for the tests of a file. Each has a store of its own in it, with a clock of its own for times and leases. */
export function etcdOfFile(options: Parameters<typeof startEtcd>[0]) {
  let cluster: EtcdCluster
  let prefix: string
  let url: string
  let clock: SimulatedClock
  let leases: ClockedLeases
  let count = 0
  const stores: Store[] = []
  beforeAll(async () => {
    cluster = await startEtcd(options)
  }, 60_000)
  afterAll(() => cluster.stop())
  beforeEach(() => {
    prefix = `s${++count}`
    url = cluster.url(prefix)
    clock = new SimulatedClock()
    leases = new ClockedLeases(clock)
  })
  afterEach(async () => {
    for (const store of stores.splice(0)) await store.close()
  })
  return {
    get cluster() {
      return cluster
    },
    /** Of the keys of the store. */
    get prefix() {
      return prefix
    },
    get url() {
      return url
    },
    get clock() {
      return clock
    },
    /** Two of them are two processes to one another: neither knows of the other but through etcd. */
    async open(around: (etcd: Etcd) => Etcd = (etcd) => etcd, own = clock): Promise<Store> {
      const store = await openEtcdStore({ url, clock: own, around: (etcd) => around(leases.around(etcd)) })
      stores.push(store)
      return store
    },
  }
}

/** A client that begins with the first endpoint of its URL, and is closed with the test. */
export function openedEtcd(url: string): Etcd {
  const etcd = openEtcd(targetOf(url), { ...systemTiming, random: () => 0 })
  onTestFinished(() => etcd.close())
  return etcd
}

export function put(etcd: Etcd, key: string, value = key, lease?: number): Promise<TxnResult> {
  return etcd.txn({ compare: [], success: [{ put: { key, value, ...(lease !== undefined && { lease }) } }] })
}

/** All keys that begin so. `end` of a range: no text that begins so comes after it. */
export async function list(etcd: Etcd, prefix: string): Promise<readonly KeyValue[]> {
  const { outcomes } = await etcd.txn({
    compare: [],
    success: [{ range: { key: prefix, end: `${prefix}\u{10ffff}` } }],
  })
  return foundIn(outcomes[0])
}

export async function valueAt(etcd: Etcd, key: string): Promise<string | undefined> {
  const { outcomes } = await etcd.txn({ compare: [], success: [{ range: { key } }] })
  return foundIn(outcomes[0])[0]?.value
}

export function foundIn(outcome: TxnResult['outcomes'][number]): readonly KeyValue[] {
  if (!outcome || !('range' in outcome)) throw new Error('not what came of a range')
  return outcome.range.kvs
}

/** What a call fails with, and how long it took to. */
export async function failureOf(call: Promise<unknown>): Promise<EtcdError & { readonly tookMs: number }> {
  const beganMs = nowMs()
  try {
    await call
  } catch (error) {
    return Object.assign(error as EtcdError, { tookMs: nowMs() - beganMs })
  }
  throw new Error('it did not fail')
}

/** What a watch has told. */
export class Seen implements Watched {
  readonly responses: (readonly WatchEvent[])[] = []
  readonly told: string[] = []
  error: EtcdError | undefined

  events(events: readonly WatchEvent[], revision: number): void {
    this.responses.push(events)
    for (const { type, kv } of events) this.told.push(type === 'put' ? `${kv.key}=${kv.value}` : `-${kv.key}`)
    if (events.at(-1)!.kv.modRevision !== revision) this.told.push(`wrong revision ${revision}`)
  }

  progress(revision: number): void {
    this.told.push(`up to ${revision}`)
  }

  ended(why: 'compacted' | 'lost', error: EtcdError): void {
    this.told.push(why)
    this.error = error
  }

  /** Waits until something was told that ends so. */
  async until(last: string | RegExp): Promise<void> {
    const isThere = () => this.told.some((text) => (typeof last === 'string' ? text === last : last.test(text)))
    for (let looks = 0; looks < 2_000 && !isThere(); looks++) await sleep(5)
    if (!isThere()) throw new Error(`not told of ${last}, but of ${this.told.join(', ')}`)
  }
}
