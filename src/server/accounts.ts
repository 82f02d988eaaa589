import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { Account } from './fair-queue.ts'
import type { Asker, Guard } from './guard.ts'
import { networkOf } from './network.ts'

const NETWORKS_MAX = 10_000

/** Whose account the work for a connection goes to: that of its token; where nobody has one, of its network or its stream. */
export class Accounts {
  readonly #guard: Guard
  readonly #byToken = new WeakMap<object, Account>()
  readonly #byNetwork = new Map<string, Account>()
  /** What the last request of a connection has shown, and whom that is of: most show the same every time. */
  #bySocket = new WeakMap<Socket, { readonly shown: string | undefined; readonly account: Account }>()

  constructor(guard: Guard) {
    this.#guard = guard
  }

  /** Whoever shows no token that is known shares one with all others of its network. */
  ofRequest(request: IncomingMessage): Account {
    const { headers, socket } = request
    const { authorization: shown } = headers
    const last = this.#bySocket.get(socket)
    if (last && last.shown === shown) return last.account
    const token = this.#guard.tokenOf(request)
    const account = token ? this.#ofToken(token) : this.#ofNetwork(networkOf(socket.remoteAddress ?? ''))
    this.#bySocket.set(socket, { shown, account })
    return account
  }

  /** The tokens have changed: whom each connection is of is found out again. */
  forgetConnections(): void {
    this.#bySocket = new WeakMap()
  }

  ofStream({ token }: Asker): Account {
    return token ? this.#ofToken(token) : new Account()
  }

  #ofToken(token: object): Account {
    const account = this.#byToken.get(token) ?? new Account()
    this.#byToken.set(token, account)
    return account
  }

  #ofNetwork(network: string): Account {
    const account = this.#byNetwork.get(network) ?? new Account()
    if (this.#byNetwork.size >= NETWORKS_MAX) this.#byNetwork.clear()
    this.#byNetwork.set(network, account)
    return account
  }
}
