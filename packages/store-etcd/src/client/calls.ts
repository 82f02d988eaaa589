import type { Timing } from '@baton-lock/store/timing'
import type { EtcdError } from '../etcd.ts'
import type { EtcdTarget } from '../etcd-url.ts'
import type { Connection } from './connection.ts'
import { Connections, closedError } from './connections.ts'
import { Credentials, type Pass } from './credentials.ts'
import { errorOf, isCancelled, isEndpointTrouble, isNoLeader, isStalePass, Late } from './failures.ts'
import type { Rpc } from './messages.ts'

/** An answer takes no longer than this, or the member is given up. */
export const CALL_MS = 2_500

/** A connection, and what goes along with whatever is sent over it. */
export interface Line {
  readonly connection: Connection
  readonly pass: Pass
}

interface AskOptions {
  readonly timeoutMs?: number | undefined
  /** Asked only where the answer is lost. */
  readonly isWrite: () => boolean
  /** Whether a member answers it by itself: no leader is needed. */
  readonly isLocal?: boolean
  /** Whether newer versions of etcd let only the role root do it. */
  readonly isAdmin?: boolean
}

/** Asks over the present connection; makes one and logs in where that is needed. */
export class Calls {
  readonly #target: EtcdTarget
  readonly #timing: Timing
  readonly #connections: Connections
  readonly #credentials: Credentials

  constructor(target: EtcdTarget, timing: Timing) {
    this.#target = target
    this.#timing = timing
    this.#connections = new Connections(target, timing)
    this.#credentials = new Credentials(target.login)
  }

  /** Rejects with an `EtcdError`. */
  async ask<Request, Response>(
    rpc: Rpc<Request, Response>,
    request: Request,
    { timeoutMs = CALL_MS, isWrite, isLocal = false, isAdmin = false }: AskOptions,
  ): Promise<Response> {
    const byMs = this.#timing.monoMs() + timeoutMs
    for (let tries = 1; ; tries++) {
      // Most often both are there, and nothing is waited for.
      const line = this.line() ?? (await this.open(byMs - this.#timing.monoMs()))
      const { connection, pass } = line
      const headers = isLocal ? pass.localHeaders : pass.headers
      try {
        const response = await connection.ask(rpc, request, { headers, timeoutMs: byMs - this.#timing.monoMs() })
        if (!isLocal) this.#connections.isWell()
        return response
      } catch (error) {
        const mayGoWell = this.failed(line, error)
        if (tries > 1 || !mayGoWell) throw this.errorOf(error, connection, { isWrite: isWrite(), isAdmin })
      }
    }
  }

  /** What is there already. */
  line(): Line | undefined {
    const { current: connection } = this.#connections
    const { pass } = this.#credentials
    return connection && pass ? { connection, pass } : undefined
  }

  /** Connects and logs in, as far as that is needed. Rejects with an `EtcdError`. */
  open(limitMs = CALL_MS): Promise<Line> {
    return this.#timing.within(Math.max(0, limitMs), this.#open(), () => this.#connections.nobody())
  }

  /** Goes to another endpoint where that may help. Says whether it may go well once more, with a new pass. */
  failed({ connection, pass }: Line, error: unknown): boolean {
    this.#wentWrong(connection, error)
    return isStalePass(error) && this.#credentials.expire(pass)
  }

  /** What a caller gets for it. */
  errorOf(error: unknown, { endpoint }: Connection, { isWrite = false, isAdmin = false } = {}): EtcdError {
    if (this.#connections.isClosed && isCancelled(error)) return closedError(isWrite)
    const { user } = this.#credentials
    return errorOf(error, { endpoint, isWrite, isAdmin, user, prefix: this.#target.prefix })
  }

  prefer(endpoint: string): void {
    this.#connections.prefer(endpoint)
  }

  moveOn(): void {
    this.#connections.moveOn()
  }

  /** Nothing is begun any more; what is under way has so much time to end, and fails then. */
  close(graceMs: number): Promise<void> {
    return this.#connections.close(graceMs)
  }

  async #open(): Promise<Line> {
    const connection = await this.#connections.connect()
    try {
      return { connection, pass: await this.#credentials.enter(connection, CALL_MS) }
    } catch (error) {
      this.#wentWrong(connection, error)
      throw this.errorOf(error, connection)
    }
  }

  #wentWrong(connection: Connection, error: unknown): void {
    if (isNoLeader(error)) this.#connections.isLeaderless(connection)
    else if (error instanceof Late || isEndpointTrouble(error)) this.#connections.moveOn(connection)
  }
}
