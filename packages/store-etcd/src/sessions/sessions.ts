import type { SessionLease } from '@baton-lock/core'
import type { EndedSession, RenewedSession } from '@baton-lock/store/remote'
import type { Clock, Place, SessionRequest } from '@baton-lock/store/store'
import type { Etcd, KeyValue } from '../etcd.ts'
import { Conflict } from '../failures.ts'
import { type Keys, partsIn } from '../keys.ts'
import { isNotThere, isStill, isThere } from '../transaction/comparisons.ts'
import { foundIn } from '../transaction/found.ts'
import { Reads } from '../transaction/reads.ts'
import type { LostSession } from './known-sessions.ts'
import { leaseId } from './lease-id.ts'
import type { StoredSession } from './stored-session.ts'

interface SessionsOptions {
  readonly etcd: Etcd
  readonly keys: Keys
  readonly clock: Clock
  readonly process: string
  readonly uniqueName: () => string
  /** Whether etcd never ends a lease before its time: see `server.ts`. */
  readonly areLeasesExact: boolean
  /** Since when a session is not alive, as far as this process has seen it. */
  readonly lostOf: (session: string) => LostSession
  /** A session was taken for lost, and is not: whatever happened to its places meanwhile was told to nobody. */
  readonly onRevived: () => void
}

/** etcd's own leases last whole seconds, and with its usual settings two at least. */
const LEAST_S = 2
const TIMES_AT_ONCE = 32
/** Of one whose time has been over for so long nobody asks any more. */
const OVER_MS = 3_600_000
const CLEAR_AT = 1_000

/**
 * A session is an etcd lease. It is alive for as long as its key `alive` is there, which hangs off the lease, and says at
 * which process it is. Another key, which hangs off nothing, stays until all of its places are gone.
 */
export class Sessions {
  readonly #options: SessionsOptions
  /** Those that were opened or renewed here last: until when they are alive for certain, by the clock of this process. */
  readonly #here = new Map<string, { readonly untilMs: number }>()

  #clearAt = CLEAR_AT

  constructor(options: SessionsOptions) {
    this.#options = options
  }

  async insert({ session, node, ttlMs }: SessionRequest): Promise<boolean> {
    const { etcd, keys, clock, process } = this.#options
    const untilMs = clock.nowMs() + ttlMs
    const lease = await this.#lease(ttlMs)
    const stored: StoredSession = { node, ttlMs, lease, process }
    const { succeeded } = await etcd.txn({
      compare: [isNotThere(keys.session(session)), isNotThere(keys.aliveOne(session))],
      success: [
        { put: { key: keys.session(session), value: JSON.stringify(stored) } },
        { put: { key: keys.aliveOne(session), value: process, lease } },
        { put: { key: keys.tick, value: '' } },
      ],
    })
    if (succeeded) this.#note(session, untilMs)
    else await etcd.revokeLease(lease)
    return succeeded
  }

  async renew(session: string, farewell: string): Promise<RenewedSession | undefined> {
    const { etcd, clock } = this.#options
    for (;;) {
      const { kv, stored, alive, places } = await this.#read(session)
      const renewedMs = clock.nowMs()
      // The lease is asked after it was found: only etcd knows whether it lives.
      const isAlive = stored && alive && (await etcd.keepAlive(stored.lease)) > 0
      if (!isAlive && (await this.revive(session))) continue
      // Of one that is only lost it is still known since when.
      if (!isAlive && (!stored || stored.ended)) this.#here.delete(session)
      if (!isAlive) return undefined
      if (!(await this.#isHere(kv!, alive, farewell))) continue
      this.#note(session, renewedMs + stored.ttlMs)
      return { ttlMs: stored.ttlMs, places }
    }
  }

  /**
   * Before 3.4.31 and 3.5.13, etcd may end leases that were renewed just now, when a leader that was stopped comes back. A session that
   * is here, and whose time is not over, is alive all the same: it gets another lease. False where it is not.
   */
  async revive(session: string): Promise<boolean> {
    const { etcd, keys, clock, process, onRevived } = this.#options
    const here = this.#here.get(session)
    // However long it takes: what is over stays over.
    while (here && here.untilMs > clock.nowMs()) {
      const { kv, stored, alive } = await this.#read(session)
      if (alive) return alive.value === process
      if (!stored || stored.ended) return false
      const lease = await this.#lease(stored.ttlMs)
      if (here.untilMs <= clock.nowMs()) return false
      const revived = etcd.txn({
        compare: [isStill(kv!), isNotThere(keys.aliveOne(session))],
        success: [
          { put: { key: kv!.key, value: JSON.stringify({ ...stored, lease, process }) } },
          { put: { key: keys.aliveOne(session), value: process, lease } },
          { put: { key: keys.left(process), value: '' } },
          { put: { key: keys.tick, value: '' } },
        ],
      })
      const { succeeded } = await revived.catch((error) => {
        // It may have been done all the same.
        onRevived()
        throw error
      })
      if (succeeded) {
        onRevived()
        return true
      }
      await etcd.revokeLease(lease)
    }
    return false
  }

  /**
   * When a session that is not alive may be ended as lost. The process that it was at last, as it is written down, knows when its time is
   * over. The others take etcd's word for it, where that is to be trusted; otherwise its whole time passes once more.
   */
  dueMs(session: string, { ended, process, seenMs, ttlMs }: StoredSession & LostSession): number {
    const { areLeasesExact, process: own } = this.#options
    if (ended || areLeasesExact) return seenMs
    const here = process === own ? this.#here.get(session) : undefined
    return here ? Math.min(here.untilMs, seenMs + ttlMs) : seenMs + ttlMs
  }

  async leasesOf(sessions: readonly string[]): Promise<ReadonlyMap<string, SessionLease>> {
    const { etcd, keys, clock } = this.#options
    const leases = new Map<string, SessionLease>()
    const all = [...new Set(sessions)]
    for (let from = 0; from < all.length; from += TIMES_AT_ONCE) {
      const some = all.slice(from, from + TIMES_AT_ONCE)
      const reads = new Reads(false)
      const found = some.map((session) => reads.add({ key: keys.session(session) }))
      await reads.run(etcd)
      await Promise.all(
        found.map(async (each, at) => {
          const stored = storedIn(each().kvs[0])
          const times = stored && !stored.ended ? await etcd.leaseTimes(stored.lease) : undefined
          if (!times || times.leftS <= 0) return
          const expiresAtMs = Math.round(clock.nowMs() + times.leftS * 1_000)
          leases.set(some[at]!, { expiresAtMs, ttlMs: stored!.ttlMs })
        }),
      )
    }
    return leases
  }

  async placesOf(session: string, limit?: number): Promise<readonly Place[] | undefined> {
    const { etcd, keys } = this.#options
    const reads = new Reads(false)
    const alive = reads.add({ key: keys.aliveOne(session), keysOnly: true })
    const places = reads.add({ ...keys.places(session), keysOnly: true, ...(limit !== undefined && { limit }) })
    await reads.run(etcd)
    return alive().kvs.length > 0 ? placesIn(keys, session, places().kvs) : undefined
  }

  /** In one transaction with the comparison: what a step has hung off it before is among its places, and nothing comes after. */
  async end(session: string, how: 'left' | 'lost'): Promise<EndedSession | undefined> {
    const { etcd, keys, clock, lostOf } = this.#options
    for (;;) {
      const { stored, kv, alive } = await this.#read(session)
      if (!stored) return undefined
      if (stored.ended) {
        const places = await this.#placesOfEnded(kv!, session)
        if (!places) continue
        return { how: stored.ended, places }
      }
      if ((alive !== undefined) !== (how === 'left')) return undefined
      if (how === 'lost' && this.dueMs(session, { ...stored, ...lostOf(session) }) > clock.nowMs())
        throw new Conflict('the process that it was at may give it a new lease')
      const ended: StoredSession = { ...stored, ended: how }
      const key = keys.aliveOne(session)
      const { succeeded, outcomes } = await etcd.txn({
        compare: [isStill(kv!), how === 'left' ? isThere(key) : isNotThere(key)],
        success: [
          { range: { ...keys.places(session), keysOnly: true } },
          { put: { key: kv!.key, value: JSON.stringify(ended) } },
          { put: { key: keys.tick, value: '' } },
          { delete: { key } },
        ],
      })
      if (!succeeded) continue
      this.#here.delete(session)
      if (how === 'left') await etcd.revokeLease(stored.lease).catch(() => {})
      return { how, places: placesIn(keys, session, foundIn(outcomes[0]).kvs) }
    }
  }

  async remove(session: string): Promise<void> {
    const { etcd, keys } = this.#options
    const { stored, kv } = await this.#read(session)
    if (!stored?.ended) return
    await etcd.txn({
      compare: [isStill(kv!), isNotThere(keys.places(session))],
      success: [{ delete: { key: kv!.key } }, { put: { key: keys.tick, value: '' } }],
    })
  }

  #note(session: string, untilMs: number): void {
    this.#here.set(session, { untilMs })
    if (this.#here.size < this.#clearAt) return
    // Those that others have ended.
    const nowMs = this.#options.clock.nowMs()
    for (const [each, here] of this.#here) if (here.untilMs + OVER_MS < nowMs) this.#here.delete(each)
    this.#clearAt = Math.max(CLEAR_AT, 2 * this.#here.size)
  }

  async #lease(ttlMs: number): Promise<number> {
    const lease = leaseId()
    await this.#options.etcd.grantLease(lease, Math.max(LEAST_S, Math.ceil(ttlMs / 1_000)))
    return lease
  }

  /** It is at this process from now on; the one that it was at is told. False where somebody was in between. */
  async #isHere(kv: KeyValue, alive: KeyValue, farewell: string): Promise<boolean> {
    const { etcd, keys, process, uniqueName } = this.#options
    if (alive.value === process) return true
    const { succeeded } = await etcd.txn({
      compare: [isStill(kv), isStill(alive)],
      success: [
        { put: { key: kv.key, value: JSON.stringify({ ...storedIn(kv), process }) } },
        { put: { key: alive.key, value: process, lease: alive.lease } },
        { put: { key: keys.letter(alive.value, uniqueName()), value: farewell } },
        { put: { key: keys.bell(alive.value), value: '' } },
        { put: { key: keys.left(alive.value), value: '' } },
        { put: { key: keys.tick, value: '' } },
      ],
    })
    return succeeded
  }

  /** Whoever has ended it has seen to it that no more come. Nothing where it is not that session any more: one of the same name may live by now. */
  async #placesOfEnded(ended: KeyValue, session: string): Promise<readonly Place[] | undefined> {
    const { etcd, keys } = this.#options
    const reads = new Reads(false)
    const itself = reads.add({ key: ended.key, keysOnly: true })
    const places = reads.add({ ...keys.places(session), keysOnly: true })
    await reads.run(etcd)
    const isSame = itself().kvs[0]?.modRevision === ended.modRevision
    return isSame ? placesIn(keys, session, places().kvs) : undefined
  }

  async #read(session: string) {
    const { etcd, keys } = this.#options
    const reads = new Reads(false)
    const found = reads.add({ key: keys.session(session) })
    const alive = reads.add({ key: keys.aliveOne(session) })
    const places = reads.add({ ...keys.places(session), countOnly: true })
    await reads.run(etcd)
    const [kv] = found().kvs
    return { kv, stored: storedIn(kv), alive: alive().kvs[0], places: places().count }
  }
}

function storedIn(kv: KeyValue | undefined): StoredSession | undefined {
  return kv && JSON.parse(kv.value)
}

function placesIn(keys: Keys, session: string, kvs: readonly KeyValue[]): Place[] {
  return kvs.map(({ key }) => {
    const [namespace, resource, operation, owner, node] = partsIn(key, keys.places(session))
    return { namespace: namespace!, resource: resource!, operation: operation!, owner: owner!, node: node! }
  })
}
