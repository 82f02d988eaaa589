import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import type { Agent as HttpsAgent } from 'node:https'
import type { ConnectOptions } from './api.ts'

interface Sent {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /** Gives it up: the connection is cut, and what is awaited rejects with the signal's reason. */
  readonly signal: AbortSignal
}

/** Connections to servers, which are used again. */
export class Connections {
  readonly #http: HttpAgent
  readonly #tls: ConnectOptions['tls']
  readonly #limit: number
  #https: HttpsAgent | undefined

  /** No more than `limit` at a time to one server: what is beyond waits. */
  constructor({ tls, limit }: { readonly tls: ConnectOptions['tls']; readonly limit: number }) {
    this.#http = new HttpAgent({ keepAlive: true, maxSockets: limit })
    this.#tls = tls
    this.#limit = limit
  }

  /** Resolves when the answer begins. A server may close a connection that has idled just as it is used: that is tried once more. */
  async request(url: URL, sent: Sent): Promise<IncomingMessage> {
    try {
      return await this.#once(url, sent)
    } catch (error) {
      if (!(error instanceof StaleConnection)) throw error
      return this.#once(url, sent)
    }
  }

  close(): void {
    this.#http.destroy()
    this.#https?.destroy()
  }

  async #once(url: URL, { method, headers, body, signal }: Sent): Promise<IncomingMessage> {
    const { request: send, agent } = await this.#by(url)
    signal.throwIfAborted()
    const options: RequestOptions = { method, headers: { ...headers }, signal, agent }
    return new Promise((resolve, reject) => {
      const request = send(url, options, resolve)
      request.on('error', (error: NodeJS.ErrnoException) => {
        const isStale = request.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
        reject(signal.aborted ? signal.reason : isStale ? new StaleConnection() : error)
      })
      request.end(body)
    })
  }

  /** TLS is loaded where it is used. */
  async #by({ protocol }: URL): Promise<{ request: typeof httpRequest; agent: HttpAgent }> {
    if (protocol === 'http:') return { request: httpRequest, agent: this.#http }
    const https = await import('node:https')
    this.#https ??= new https.Agent({ keepAlive: true, maxSockets: this.#limit, ...this.#tls })
    return { request: https.request, agent: this.#https }
  }
}

class StaleConnection extends Error {}

/** All of an answer. */
export async function textOf(response: IncomingMessage, signal: AbortSignal): Promise<string> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of response) chunks.push(chunk)
  } catch (error) {
    throw signal.aborted ? signal.reason : error
  }
  return Buffer.concat(chunks).toString('utf8')
}
