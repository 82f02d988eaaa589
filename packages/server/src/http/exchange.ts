import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { STORE_HEADER } from '@baton-lock/protocol'
import type { Log } from '@baton-lock/service'
import type { Asker } from '../auth/guard.ts'
import type { RequestLog } from '../logging/request-log.ts'
import { REQUEST_ID_HEADER, type RequestName } from '../logging/request-names.ts'
import { jsonOf } from './json.ts'
import { afterLinger } from './linger.ts'

/** What a request is answered with. */
export interface Answer {
  readonly status: number
  /** Sent as JSON. */
  readonly json?: object
  /** Sent as it is. */
  readonly content?: { readonly type: string; readonly data: string | Buffer }
  readonly headers?: OutgoingHttpHeaders
}

/** What all exchanges of a server share. */
export interface ExchangeOptions {
  readonly requestLog: RequestLog
  readonly storeId: string
}

/** The connection of a request, as far as its answer concerns it. */
export interface Carrier {
  /** No other request will be answered on it. */
  readonly isLast: boolean
  /** Answers nothing more, and reads nothing more. */
  stop(): void
  /** Counts what the client has not read. */
  report(): void
}

const JSON_TYPE = 'application/json; charset=utf-8'

/** One request with its response. */
export class Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Without the query. */
  readonly path: string
  /** Who asks; known if the route asks for a token. */
  asker!: Asker
  /** What came as the body; `undefined` if the request has none. */
  bytes: Buffer | undefined
  /** The path of the route, as the log shows it: the path of the request may contain anything. */
  routePath: string | undefined
  readonly #options: ExchangeOptions
  readonly #carrier: Carrier
  #name: RequestName | undefined

  constructor(
    { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
    carrier: Carrier,
    options: ExchangeOptions,
  ) {
    this.request = request
    this.response = response
    this.path = pathOf(request)
    this.#carrier = carrier
    this.#options = options
    // The client may leave while it is written to.
    response.on('error', ignore)
  }

  get method(): string {
    return this.request.method!
  }

  /** By what it is found in the log. */
  get name(): RequestName {
    this.#name ??= this.#options.requestLog.names.of(this.request.headers)
    return this.#name
  }

  get log(): Log {
    return this.#options.requestLog.named({ ...this.name })
  }

  /** The JSON of the body; `undefined` if it is empty. Throws if it is not JSON. */
  get body(): unknown {
    return jsonOf(this.bytes)
  }

  /** The fields of the query. One that is given several times is a list, which no schema accepts. */
  get query(): Record<string, unknown> {
    const fields: Record<string, unknown> = Object.create(null)
    const params = new URLSearchParams(this.request.url!.slice(this.path.length + 1))
    for (const name of new Set(params.keys())) {
      const values = params.getAll(name)
      fields[name] = values.length === 1 ? values[0] : values
    }
    return fields
  }

  /** The client has left and will not read an answer. */
  get isGone(): boolean {
    return this.request.socket.destroyed
  }

  /** Headers of every answer. */
  get headers(): OutgoingHttpHeaders {
    const headers: OutgoingHttpHeaders = { [REQUEST_ID_HEADER]: this.name.requestId }
    if (this.path.startsWith('/v1/')) headers[STORE_HEADER] = this.#options.storeId
    return headers
  }

  /** No other request is answered on this connection. Returns the headers of an answer that says so. */
  endConnection(): OutgoingHttpHeaders {
    this.#carrier.stop()
    return { ...this.headers, connection: 'close' }
  }

  send(answer: Answer): void {
    const { response } = this
    if (response.destroyed || response.headersSent) return
    const { data, encoding } = this.#writeHead(answer, this.#carrier.isLast)
    // Head and body go out in one write.
    response.end(data, encoding)
    this.#carrier.report()
  }

  /** Answers a request that was not read to its end. The rest stays unread, and the connection ends. */
  sendAndClose(answer: Answer): void {
    const { request, response } = this
    if (response.destroyed || response.headersSent) return
    const { data, encoding } = this.#writeHead(answer, true)
    // An answer to HEAD has no body: nothing else would send its head.
    response.flushHeaders()
    response.write(data, encoding)
    // That was all of the answer. Ending the response would have Node destroy the socket at once.
    request.socket.end()
    afterLinger(() => request.socket.destroy())
    this.#carrier.report()
  }

  /** Writes down that it was answered, at debug. */
  logAnswer(status: number): void {
    if (!this.#options.requestLog.isDebug) return
    this.log.debug('http request answered', { method: this.method, path: this.routePath, status })
  }

  #writeHead({ status, json, content, headers }: Answer, isLast: boolean) {
    const head = this.headers
    const data = json ? JSON.stringify(json) : (content?.data ?? '')
    const bytes = typeof data === 'string' ? Buffer.byteLength(data) : data.length
    if (json || content) {
      head['content-type'] = json ? JSON_TYPE : content!.type
      head['content-length'] = bytes
    }
    if (headers) Object.assign(head, headers)
    if (isLast) head.connection = 'close'
    if (head.connection === 'close') this.#carrier.stop()
    this.response.writeHead(status, head)
    this.logAnswer(status)
    // Text of one byte a character is copied as it is.
    const encoding: BufferEncoding = bytes === data.length ? 'latin1' : 'utf8'
    return { data, encoding }
  }
}

export function pathOf({ url = '' }: IncomingMessage): string {
  const end = url.indexOf('?')
  return end < 0 ? url : url.slice(0, end)
}

function ignore(): void {}
