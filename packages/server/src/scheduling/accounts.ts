import type { Socket } from 'node:net'
import type { Asker } from '../auth/guard.ts'
import { networkOf } from '../auth/network.ts'
import { Account } from './fair-queue.ts'

const NETWORKS_MAX = 10_000

/** Which account the work for a client is counted to. */
export class Accounts {
  readonly #byToken = new WeakMap<object, Account>()
  readonly #byNetwork = new Map<string, Account>()
  readonly #bySocket = new WeakMap<Socket, Account>()

  /** Of an HTTP request: that of its token, or the one that all clients of its network without a known token share. */
  ofRequest({ asker, request }: { readonly asker?: Asker; readonly request: { readonly socket: Socket } }): Account {
    if (asker?.token) return this.#ofToken(asker.token)
    const { socket } = request
    let account = this.#bySocket.get(socket)
    if (!account) {
      account = this.#ofNetwork(networkOf(socket.remoteAddress ?? ''))
      this.#bySocket.set(socket, account)
    }
    return account
  }

  /** Of a WebSocket: that of its token, or one of its own. */
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
