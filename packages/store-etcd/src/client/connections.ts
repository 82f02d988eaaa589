import type { Timing } from '@baton-lock/store/timing'
import { EtcdError } from '../etcd.ts'
import type { EtcdTarget } from '../etcd-url.ts'
import { Connection, NotConnected } from './connection.ts'
import type { Reason } from './reasons.ts'

const SHORTEST_REST_MS = 50
const LONGEST_REST_MS = 500
/** A member may be between two leaders for so long; after that, it is one that the others have left behind. */
const LEADERLESS_MS = 500

/** Of an endpoint that was tried in vain. */
interface Rest {
  readonly untilMs: number
  readonly pauseMs: number
  readonly reason: Reason
}

/** One connection at a time, to one of the endpoints. Where it fails, the others are tried before it. */
export class Connections {
  readonly #target: EtcdTarget
  readonly #timing: Timing
  readonly #rests = new Map<string, Rest>()
  /** Those that are left, and that answers may still come from. */
  readonly #left = new Set<Connection>()
  /** In the order in which they are tried. */
  #endpoints: readonly string[]
  #current: Connection | undefined
  #connecting: Promise<Connection> | undefined
  #leaderlessSinceMs: number | undefined
  #isClosed = false

  constructor(target: EtcdTarget, timing: Timing) {
    this.#target = target
    this.#timing = timing
    // At random, so that servers spread over the members, and over the others when one of them dies.
    const drawn = target.endpoints.map((endpoint) => ({ endpoint, place: timing.random() }))
    this.#endpoints = drawn.sort((one, other) => one.place - other.place).map(({ endpoint }) => endpoint)
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** The one that is there. */
  get current(): Connection | undefined {
    return this.#current
  }

  /** The one that is there, or a new one. Rejects with an `EtcdError` once each endpoint was tried. */
  async connect(): Promise<Connection> {
    if (this.#isClosed) throw closedError()
    if (this.#current) return this.#current
    this.#connecting ??= this.#tryEach().finally(() => {
      this.#connecting = undefined
    })
    return this.#connecting
  }

  /** This one is tried first from now on; the present connection is left for it. */
  prefer(endpoint: string): void {
    this.#endpoints = [endpoint, ...this.#endpoints.filter((each) => each !== endpoint)]
    if (this.#current && this.#current.endpoint !== endpoint) this.moveOn()
  }

  /** Leaves a connection for another, unless it was left before. */
  moveOn(from = this.#current): void {
    if (from === this.#current) from?.retire('the connection was left for another')
  }

  /** The member at its other end knows of no leader. */
  isLeaderless(connection: Connection): void {
    if (connection !== this.#current) return
    const nowMs = this.#timing.monoMs()
    this.#leaderlessSinceMs ??= nowMs
    if (nowMs - this.#leaderlessSinceMs >= LEADERLESS_MS) this.moveOn(connection)
  }

  /** The member at its other end has done something. */
  isWell(): void {
    this.#leaderlessSinceMs = undefined
  }

  /** Nobody is there, and why. */
  nobody(): EtcdError {
    const reasons = this.#target.endpoints.map((endpoint) => this.#rests.get(endpoint)?.reason)
    const each = this.#target.endpoints.map(
      (endpoint, index) => `${endpoint} (${reasons[index]?.text ?? 'not tried in time'})`,
    )
    const areLasting = reasons.every((reason) => reason?.isLasting)
    const todo = areLasting ? '' : ': see that it runs, and that the URL is right'
    return new EtcdError(areLasting ? 'refused' : 'unreachable', `etcd cannot be reached at ${each.join(', ')}${todo}`)
  }

  async close(graceMs: number): Promise<void> {
    this.#isClosed = true
    const all = [...this.#left, ...(this.#current ? [this.#current] : [])]
    this.#current?.retire('the connection was closed')
    const idle = Promise.all(all.map((connection) => connection.idle()))
    await this.#timing.within(graceMs, idle, () => closedError()).catch(() => {})
    for (const connection of all) connection.cancel()
  }

  async #tryEach(): Promise<Connection> {
    const nowMs = this.#timing.monoMs()
    const rested = this.#endpoints.filter((endpoint) => (this.#rests.get(endpoint)?.untilMs ?? nowMs) <= nowMs)
    for (const endpoint of rested) {
      try {
        const connection = await Connection.open(endpoint, this.#target, this.#timing)
        if (!this.#isClosed) return this.#use(connection)
        connection.cancel()
      } catch (error) {
        if (!(error instanceof NotConnected)) throw error
        this.#failed(endpoint, error.reason)
      }
      if (this.#isClosed) throw closedError()
    }
    throw this.nobody()
  }

  #use(connection: Connection): Connection {
    this.#rests.delete(connection.endpoint)
    this.#leaderlessSinceMs = undefined
    this.#current = connection
    connection.onEnd(() => {
      this.#current = undefined
      this.#putLast(connection.endpoint)
      this.#left.add(connection)
      void connection.idle().then(() => this.#left.delete(connection))
    })
    return connection
  }

  #failed(endpoint: string, reason: Reason): void {
    const pauseMs = Math.min(LONGEST_REST_MS, 2 * (this.#rests.get(endpoint)?.pauseMs ?? SHORTEST_REST_MS / 2))
    this.#rests.set(endpoint, { untilMs: this.#timing.monoMs() + pauseMs, pauseMs, reason })
    this.#putLast(endpoint)
  }

  #putLast(endpoint: string): void {
    this.#endpoints = [...this.#endpoints.filter((each) => each !== endpoint), endpoint]
  }
}

export function closedError(wasWrite = false): EtcdError {
  return new EtcdError(wasWrite ? 'unknown' : 'unreachable', 'the client of etcd was closed meanwhile')
}
