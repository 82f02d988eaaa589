import type { IncomingMessage } from 'node:http'
import {
  type ErrorBody,
  errors,
  eventsRoute,
  type ReplyOf,
  type RequestType,
  routes,
  SESSION_HEADER,
  STORE_HEADER,
  type StreamScope,
} from '../protocol/index.ts'
import type { ConnectOptions } from './api.ts'
import type { ClientClock } from './clock.ts'
import { UnavailableError } from './errors.ts'
import { readEvents } from './event-stream.ts'
import { Connections, textOf } from './http-request.ts'
import { ServerStores } from './server-stores.ts'
import type { CallOptions, InputOf, StreamEnd, StreamHandlers, Transport } from './transport.ts'
import { ANNOUNCED_MS, causeOf } from './transport-errors.ts'

interface HttpTransportOptions {
  readonly bases: readonly URL[]
  readonly token?: string
  readonly tls?: ConnectOptions['tls']
  readonly clock: ClientClock
  readonly notice: (notice: string) => void
}

const CALL_MS = 10_000
/** Heartbeats come every 15 s: a stream that is silent for longer than this is dead, whatever TCP thinks. */
const SILENCE_MS = 45_000
/** More calls than this at a time wait for one another, so that a crowd of waiters does not become one of sockets. */
const CONNECTIONS = 64

export function httpTransport(options: HttpTransportOptions): Transport {
  return new HttpTransport(options)
}

/** HTTP and SSE, to one of several servers at a time: the one that answered last. */
class HttpTransport implements Transport {
  readonly #clock: ClientClock
  readonly #notice: (notice: string) => void
  readonly #stores: ServerStores
  readonly #bases: readonly URL[]
  readonly #headers: Record<string, string>
  readonly #calls: Connections
  /** Apart from the calls: a stream never gives its connection back. */
  readonly #streams: Connections
  /** Streams by the server that they come from. */
  readonly #open = new Map<{ end(end: StreamEnd): void }, URL>()
  #present = 0
  #announcedUntilMs = -Infinity
  #closed = false

  constructor({ bases, token, tls, clock, notice }: HttpTransportOptions) {
    this.#bases = bases
    this.#headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    this.#clock = clock
    this.#notice = notice
    this.#calls = new Connections({ tls, limit: CONNECTIONS })
    this.#streams = new Connections({ tls, limit: Infinity })
    this.#stores = new ServerStores(notice)
  }

  async call<Type extends RequestType>(request: InputOf<Type>, options: CallOptions = {}): Promise<ReplyOf<Type>> {
    const base = this.#base()
    const { type, ...fields } = request
    const { method, path } = routes[type as RequestType]
    const { signal, done } = limited(this.#clock, options)
    try {
      const response = await this.#calls.request(urlOf(base, path, method === 'GET' ? fields : {}), {
        method,
        signal,
        headers: method === 'GET' ? this.#headers : { ...this.#headers, 'content-type': 'application/json' },
        body: method === 'GET' ? undefined : JSON.stringify(fields),
      })
      this.#noteStore(base, response)
      return (await answerOf(response, signal)) as ReplyOf<Type>
    } catch (error) {
      if (options.signal?.aborted) throw options.signal.reason
      throw this.#failed(base, error)
    } finally {
      done()
    }
  }

  listen(scope: StreamScope, handlers: StreamHandlers, { lastId }: { lastId?: string } = {}): { close(): void } {
    const base = this.#base()
    const abort = new AbortController()
    let isOver = false
    const stream = {
      end: (end: StreamEnd) => {
        if (isOver) return
        close()
        handlers.onEnd(end)
      },
    }
    const close = () => {
      isOver = true
      this.#open.delete(stream)
      abort.abort()
    }
    this.#open.set(stream, base)
    this.#read(base, {
      scope,
      lastId,
      signal: abort.signal,
      onEvent: (event, id) => isOver || handlers.onEvent(event, id),
    })
      .then((end) => {
        if (end.isMove) this.#leave(base)
        stream.end(end)
      })
      .catch((error) => {
        if (isOver) return
        const { message: reason, isAnnounced } = this.#failed(base, error)
        stream.end({ reason, isAnnounced })
      })
    return { close }
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const stream of [...this.#open.keys()]) stream.end({ reason: 'the client was closed' })
    this.#calls.close()
    this.#streams.close()
  }

  /** Resolves when the server ends the stream, with how it did. */
  async #read(
    base: URL,
    {
      scope,
      lastId,
      signal,
      onEvent,
    }: { scope: StreamScope; lastId?: string; signal: AbortSignal } & Pick<StreamHandlers, 'onEvent'>,
  ): Promise<StreamEnd> {
    const headers = {
      ...this.#headers,
      accept: 'text/event-stream',
      ...(scope.of === 'session' && { [SESSION_HEADER]: scope.session }),
      ...(lastId !== undefined && { 'last-event-id': lastId }),
    }
    const { of: _, session: __, ...query } = { session: undefined, ...scope }
    const silence = limited(this.#clock, { signal, timeoutMs: CALL_MS })
    try {
      const url = urlOf(base, eventsRoute.path, query)
      const response = await this.#streams.request(url, { method: 'GET', signal: silence.signal, headers })
      this.#noteStore(base, response)
      if (response.statusCode !== 200) {
        const refusal = (await answerOf(response, silence.signal)) as ErrorBody
        return { reason: refusal.message, refusal }
      }
      silence.restart(SILENCE_MS)
      let retries = 0
      await readEvents(response, { onEvent, onChunk: () => silence.restart(SILENCE_MS), onRetry: () => retries++ })
      // Said at the beginning; said once more at the end, the server is about to stop.
      return { reason: 'the server closed it', isMove: retries > 1 }
    } catch (error) {
      throw silence.signal.aborted ? silence.signal.reason : error
    } finally {
      silence.done()
    }
  }

  #noteStore(base: URL, { headers }: IncomingMessage): void {
    const store = headers[STORE_HEADER]
    if (typeof store === 'string') this.#stores.note(base, store)
  }

  #base(): URL {
    if (this.#closed) throw new UnavailableError('the client was closed')
    return this.#bases[this.#present]!
  }

  /** It is about to stop. */
  #leave(base: URL): void {
    this.#announcedUntilMs = this.#clock.monoMs() + ANNOUNCED_MS
    if (this.#bases[this.#present] === base) this.#present = (this.#present + 1) % this.#bases.length
  }

  /** Moves on to the next server, with everything that hung off this one. */
  #failed(base: URL, error: unknown): UnavailableError {
    const why = causeOf(error)
    const isAnnounced = this.#clock.monoMs() < this.#announcedUntilMs
    if (this.#bases.length > 1 && this.#bases[this.#present] === base && !this.#closed) {
      this.#present = (this.#present + 1) % this.#bases.length
      if (!isAnnounced) this.#notice(`leaving ${base.origin} (${why}) for ${this.#bases[this.#present]!.origin}`)
      // One that answers, if only that it cannot, still carries events.
      const streams = error instanceof UselessAnswer ? [] : [...this.#open]
      for (const [stream, of] of streams)
        if (of === base) stream.end({ reason: 'moved to another server', isAnnounced })
    }
    return new UnavailableError(`no answer from ${base.origin}: ${why}`, { cause: error, isAnnounced })
  }
}

/** Somebody answered, but not with what was asked for. */
class UselessAnswer extends UnavailableError {}

/** What Baton answers. Anything else, or an answer that it cannot give now, is none. */
async function answerOf(response: IncomingMessage, signal: AbortSignal): Promise<unknown> {
  const { statusCode } = response
  const text = await textOf(response, signal)
  let answer: unknown
  try {
    answer = JSON.parse(text)
  } catch {
    // A proxy's page, or another server altogether.
  }
  if (typeof answer !== 'object' || answer === null || !('status' in answer)) {
    throw new UselessAnswer(`it answered ${statusCode}, and not as Baton does`)
  }
  if (answer.status !== 'refused') return answer
  const { code, message } = answer as ErrorBody
  if (!Object.hasOwn(errors, code) || errors[code].status >= 500) throw new UselessAnswer(message)
  return answer
}

function urlOf(base: URL, path: string, query: object): URL {
  const url = new URL(base.pathname.replace(/\/$/, '') + path, base)
  for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, String(value))
  return url
}

/** A signal that also aborts when the time is up. */
function limited(clock: ClientClock, { signal, timeoutMs = CALL_MS }: CallOptions) {
  const controller = new AbortController()
  const abort = () => controller.abort(signal?.reason)
  const expire = (afterMs: number) =>
    clock.after(afterMs, () => controller.abort(new UnavailableError(`nothing came for ${Math.round(afterMs)} ms`)))
  let cancel = expire(timeoutMs)
  if (signal?.aborted) abort()
  signal?.addEventListener('abort', abort, { once: true })
  return {
    signal: controller.signal,
    restart(afterMs: number) {
      cancel()
      cancel = expire(afterMs)
    },
    done() {
      cancel()
      signal?.removeEventListener('abort', abort)
    },
  }
}
