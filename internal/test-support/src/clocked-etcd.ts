import type { Clock } from '@baton-lock/store/store'
import type { Etcd } from '@baton-lock/store-etcd/etcd'

interface Leased {
  readonly ttlMs: number
  expiresAtMs: number
}

/**
 * A real etcd whose leases run out by a clock that is given: those of all that were made with the same one. They are real leases, which
 * etcd itself is told to end when their time is over; so whatever hangs off them goes as it always does.
 */
export class ClockedLeases {
  readonly #clock: Clock
  readonly #leases = new Map<number, Leased>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  around(etcd: Etcd): Etcd {
    return {
      txn: async (txn, options) => {
        await this.#end(etcd)
        return etcd.txn(txn, options)
      },
      grantLease: async (id, ttlS) => {
        await etcd.grantLease(id, LONG_S)
        this.#leases.set(id, { ttlMs: ttlS * 1_000, expiresAtMs: this.#clock.nowMs() + ttlS * 1_000 })
      },
      revokeLease: (id) => {
        this.#leases.delete(id)
        return etcd.revokeLease(id)
      },
      keepAlive: async (id) => {
        await this.#end(etcd)
        const lease = this.#leases.get(id)
        if (!lease) return 0
        lease.expiresAtMs = this.#clock.nowMs() + lease.ttlMs
        return lease.ttlMs / 1_000
      },
      leaseTimes: async (id) => {
        await this.#end(etcd)
        const lease = this.#leases.get(id)
        return lease && { leftS: (lease.expiresAtMs - this.#clock.nowMs()) / 1_000, ttlS: lease.ttlMs / 1_000 }
      },
      watch: (keys, fromRevision, watched) => etcd.watch(keys, fromRevision, watched),
      compact: (revision) => etcd.compact(revision),
      // Whatever the members do, these leases never end before their time.
      status: async () => (await etcd.status()).map((member) => ({ ...member, version: '3.6.0' })),
      quota: (endpoint) => etcd.quota(endpoint),
      alarms: () => etcd.alarms(),
      prefer: (endpoint) => etcd.prefer(endpoint),
      moveOn: () => etcd.moveOn(),
      close: () => etcd.close(),
    }
  }

  async #end(etcd: Etcd): Promise<void> {
    for (const [id, { expiresAtMs }] of this.#leases) {
      if (expiresAtMs > this.#clock.nowMs()) continue
      this.#leases.delete(id)
      await etcd.revokeLease(id)
    }
  }
}

/** Longer than any test. */
const LONG_S = 3_600
