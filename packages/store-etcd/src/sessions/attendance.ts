import type { Timing } from '@baton-lock/store/timing'
import type { Etcd } from '../etcd.ts'
import type { Keys } from '../keys.ts'
import { leaseId } from './lease-id.ts'

const TTL_S = 30
const RENEW_MS = 8_000
const AGAIN_MS = 500

interface AttendanceOptions {
  readonly etcd: Etcd
  readonly keys: Keys
  readonly timing: Timing
  readonly process: string
  /** Others have counted this process as gone: what was sent to it meanwhile is lost. */
  readonly onMissed: () => void
}

/** That this process is there, and whether it hears of everything: keys under a lease, which go with it. */
export class Attendance {
  readonly #options: AttendanceOptions
  #lease = 0
  #hearsAll = false
  #cancel: () => void = () => {}
  #closed = false

  constructor(options: AttendanceOptions) {
    this.#options = options
  }

  async enter(): Promise<void> {
    await this.#enter()
    this.#renewLater(RENEW_MS)
  }

  /** From when it resolves, nobody commits without having found this process among the hearers. */
  async hearAll(): Promise<void> {
    this.#hearsAll = true
    await this.#put(this.#lease)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#cancel()
    await this.#options.etcd.revokeLease(this.#lease)
  }

  async #enter(): Promise<void> {
    const lease = leaseId()
    await this.#options.etcd.grantLease(lease, TTL_S)
    await this.#put(lease)
    this.#lease = lease
  }

  async #put(lease: number): Promise<void> {
    const { etcd, keys, process } = this.#options
    const ranges = this.#hearsAll ? [keys.processes, keys.hearers] : [keys.processes]
    const success = ranges.map(({ key }) => ({ put: { key: `${key}${process}`, value: '', lease } }))
    await etcd.txn({ compare: [], success })
  }

  #renewLater(inMs: number): void {
    if (this.#closed) return
    this.#cancel = this.#options.timing.after(inMs, () => {
      this.#renew().then(
        () => this.#renewLater(RENEW_MS),
        () => this.#renewLater(AGAIN_MS),
      )
    })
  }

  async #renew(): Promise<void> {
    if ((await this.#options.etcd.keepAlive(this.#lease)) > 0 || this.#closed) return
    await this.#enter()
    this.#options.onMissed()
  }
}
