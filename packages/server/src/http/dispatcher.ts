import type { IncomingMessage } from 'node:http'
import { errors } from '@baton-lock/protocol'
import type { Guard } from '../auth/guard.ts'
import type { WrongTokens } from '../auth/wrong-tokens.ts'
import type { RequestLog } from '../logging/request-log.ts'
import { Refusal } from '../refusal.ts'
import type { Accounts } from '../scheduling/accounts.ts'
import type { FairQueue } from '../scheduling/fair-queue.ts'
import { readBody } from './body.ts'
import type { Answer, Exchange } from './exchange.ts'
import type { GuardedRoute, Router } from './router.ts'

interface DispatcherOptions {
  readonly router: Router
  readonly guard: Guard
  readonly wrongTokens: WrongTokens
  readonly requestLog: RequestLog
  readonly queue: FairQueue
  readonly accounts: Accounts
  /** The largest body. */
  readonly bodyBytes: number
}

/** The path of every HTTP request: head, guard, body, turn, handler, answer. */
export class Dispatcher {
  readonly #options: DispatcherOptions

  constructor(options: DispatcherOptions) {
    this.#options = options
  }

  readonly serve = (exchange: Exchange): void => {
    const { router, bodyBytes } = this.#options
    const { request } = exchange
    const fault = headFault(request)
    if (fault) {
      request.resume()
      exchange.send(fault)
      return
    }
    const route = router.find(exchange.method, exchange.path)
    exchange.routePath = route.path === '' ? undefined : route.path
    try {
      this.#admit(exchange, route)
    } catch (error) {
      // Its body is of no use.
      request.resume()
      void this.#refuseSlowly(exchange, route, error)
      return
    }
    readBody(request, bodyBytes, (body, refusal) =>
      this.#inTurn(exchange, () =>
        refusal ? this.#refuse(exchange, route, refusal) : this.#handle(exchange, route, body),
      ),
    )
  }

  /** Throws if the request is that of a foreign page, or if nobody with its token may use the route. */
  #admit(exchange: Exchange, { access }: GuardedRoute): void {
    const { guard } = this.#options
    const { request } = exchange
    const isGet = exchange.method === 'GET'
    if (!access.roles) {
      guard.admit(request, { mayNavigate: access.isPage && isGet })
      return
    }
    exchange.asker = guard.identify(request, isGet ? 'get' : 'call')
    // An attempt that the audit log has to show comes with what the request names: see v1/admission.ts.
    if (!access.audited) guard.enter(exchange.asker, access)
  }

  #handle(exchange: Exchange, route: GuardedRoute, body: Buffer | undefined): void {
    const isRead = exchange.method === 'GET' || exchange.method === 'HEAD'
    // What was sent counts even if its client has left; but nobody is there to read.
    if (isRead && exchange.isGone) return
    try {
      checkEncoding(exchange)
      exchange.bytes = body
      const answer = route.handle(exchange)
      if (answer instanceof Promise) this.#sendLater(exchange, route, answer)
      else if (answer) exchange.send(answer)
    } catch (error) {
      this.#refuse(exchange, route, error)
    }
  }

  /** Writing a large reply takes a turn of its own. */
  #sendLater(exchange: Exchange, route: GuardedRoute, answer: Promise<Answer | undefined>): void {
    answer.then(
      (later) => later && this.#inTurn(exchange, () => exchange.send(later)),
      (error) => this.#refuse(exchange, route, error),
    )
  }

  /** Whoever tries one token after another waits for the answer. */
  async #refuseSlowly(exchange: Exchange, route: GuardedRoute, error: unknown): Promise<void> {
    await this.#options.wrongTokens.slow(error, exchange.request.socket, () => exchange.log)
    this.#inTurn(exchange, () => this.#refuse(exchange, route, error))
  }

  #refuse(exchange: Exchange, route: GuardedRoute, error: unknown): void {
    const body = this.#options.requestLog.failed(error, () => exchange.log)
    const challenge = body.code === 'unauthorised' ? { 'www-authenticate': 'Bearer' } : undefined
    const headers = error instanceof Refusal ? (error.headers ?? challenge) : undefined
    const answer = { status: errors[body.code].status, json: route.refused?.(body) ?? body, headers }
    if (body.code === 'too-large' && !exchange.request.complete) exchange.sendAndClose(answer)
    else exchange.send(answer)
  }

  #inTurn(exchange: Exchange, work: () => void): void {
    const { queue, accounts } = this.#options
    queue.run(accounts.ofRequest(exchange), work)
  }
}

/** The answer to a request that is refused for its headers. Node would answer at once, ahead of earlier requests. */
function headFault({ headers, httpVersion }: IncomingMessage) {
  const { host, expect } = headers
  if (host === undefined && httpVersion === '1.1') return { status: 400, headers: { connection: 'close' } }
  if (expect === undefined || /^100-continue$/i.test(expect)) return undefined
  return { status: 417 }
}

/** What is not well encoded could pass for an id with percent signs. */
function checkEncoding({ request, path }: Exchange): void {
  const url = request.url!
  if (!url.includes('%')) return
  if (!isEncoded(path)) throw new Refusal('bad-request', 'The URL is not well encoded; write a percent sign as %25.')
  if (!isEncoded(url.slice(path.length)))
    throw new Refusal('bad-request', 'The query is not well encoded; write a percent sign as %25.')
}

function isEncoded(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}
