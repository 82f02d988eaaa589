import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
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
  readonly #https: HttpsAgent

  /** No more than `limit` at a time to one server: what is beyond waits. */
  constructor({ tls, limit }: { readonly tls: ConnectOptions['tls']; readonly limit: number }) {
    const options = { keepAlive: true, maxSockets: limit }
    this.#http = new HttpAgent(options)
    this.#https = new HttpsAgent({ ...options, ...tls })
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
    this.#https.destroy()
  }

  #once(url: URL, { method, headers, body, signal }: Sent): Promise<IncomingMessage> {
    const isSecure = url.protocol === 'https:'
    const options: RequestOptions = {
      method,
      headers: { ...headers },
      signal,
      agent: isSecure ? this.#https : this.#http,
    }
    return new Promise((resolve, reject) => {
      const request = (isSecure ? httpsRequest : httpRequest)(url, options, resolve)
      request.on('error', (error: NodeJS.ErrnoException) => {
        const isStale = request.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
        reject(signal.aborted ? signal.reason : isStale ? new StaleConnection() : error)
      })
      request.end(body)
    })
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
