import type { OutgoingHttpHeaders } from 'node:http2'
import { Metadata } from '@grpc/grpc-js'
import type { Login } from '../etcd-url.ts'
import type { Connection } from './connection.ts'
import { wordsOf } from './failures.ts'
import { authenticateRpc } from './rpcs.ts'

/** What goes along with a request. */
export interface Pass {
  /**
   * For what needs a leader: a member without one says so at once. Without that mark, a request would wait in it for a leader, and nobody knew
   * what became of it.
   */
  readonly headers: OutgoingHttpHeaders
  /** For what a member does by itself. */
  readonly localHeaders: OutgoingHttpHeaders
  /** For streams: all of them need a leader. */
  readonly metadata: Metadata
}

/** Of whoever has not said who he is. */
export const ANONYMOUS = passOf(undefined)

/** Who asks. */
export class Credentials {
  readonly #login: Login | undefined
  #pass: Pass | undefined
  #entering: { readonly connection: Connection; readonly pass: Promise<Pass> } | undefined

  constructor(login: Login | undefined) {
    this.#login = login
    if (!login) this.#pass = ANONYMOUS
  }

  get user(): string | undefined {
    return this.#login?.user
  }

  /** Nothing where the user has to log in first. */
  get pass(): Pass | undefined {
    return this.#pass
  }

  /** Logs in, once for all that want to over this connection. Rejects as `Connection.ask` does. */
  enter(connection: Connection, timeoutMs: number): Promise<Pass> {
    if (this.#pass) return Promise.resolve(this.#pass)
    if (this.#entering?.connection !== connection) {
      const entering = { connection, pass: this.#enter(connection, timeoutMs) }
      this.#entering = entering
      const forget = () => {
        if (this.#entering === entering) this.#entering = undefined
      }
      entering.pass.then(forget, forget)
    }
    return this.#entering!.pass
  }

  /** This one does not do any more. Says whether another one can be had. */
  expire(pass: Pass): boolean {
    if (!this.#login) return false
    if (pass === this.#pass) this.#pass = undefined
    return true
  }

  async #enter(connection: Connection, timeoutMs: number): Promise<Pass> {
    const { user: name, password } = this.#login!
    const { headers } = ANONYMOUS
    try {
      const { token } = await connection.ask(authenticateRpc, { name, password }, { headers, timeoutMs })
      this.#pass = passOf(token)
    } catch (error) {
      if (!wordsOf(error).includes('etcdserver: authentication is not enabled')) throw error
      this.#pass = ANONYMOUS
    }
    return this.#pass
  }
}

function passOf(token: string | undefined): Pass {
  const localHeaders = { 'content-type': 'application/grpc', te: 'trailers', ...(token !== undefined && { token }) }
  const headers = { ...localHeaders, hasleader: 'true' }
  const metadata = new Metadata()
  metadata.set('hasleader', 'true')
  if (token !== undefined) metadata.set('token', token)
  return { headers, localHeaders, metadata }
}
