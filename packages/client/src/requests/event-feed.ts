import { errors, StateParts, type StreamedEvent, type StreamScope, type WireEvent } from '@baton-lock/protocol'
import type { WhenUnavailable } from '../api.ts'
import type { ClientParts, Closable } from '../client-parts.ts'
import { abortable, pause } from '../clock.ts'
import type { StreamEnd, Transport } from '../connection/transport.ts'
import { BatonError, refusedError, UnavailableError } from '../errors.ts'
import { Backoff } from './backoff.ts'
import { FIRST_CONTACT_MS } from './sender.ts'

/** With so many unread events the stream is closed. Once they are read, another stream continues after them. */
const BUFFER_LIMIT = 1_000

interface FeedOptions {
  readonly scope: StreamScope
  readonly signal?: AbortSignal
  readonly whenUnavailable: WhenUnavailable
}

/** Events for as long as they are read, from as many streams as it takes. */
export async function* eventFeed(
  client: ClientParts,
  transport: Transport,
  { scope, signal, whenUnavailable }: FeedOptions,
): AsyncGenerator<WireEvent> {
  const end = new AbortController()
  const stop = () => end.abort()
  const closable: Closable = { close: () => end.abort(new BatonError('closed', 'the client was closed')) }
  if (signal?.aborted) return
  signal?.addEventListener('abort', stop, { once: true })
  const openAt = client.open.add(closable)
  const sleep = client.clock.stayAwake()
  const backoff = new Backoff(client.random)
  let lastId: string | undefined
  let lastEventMs = client.clock.monoMs()
  try {
    for (;;) {
      const stream = new BufferedStream(transport, scope, lastId)
      try {
        for (let event = await stream.next(end.signal); event; event = await stream.next(end.signal)) {
          backoff.reset()
          lastEventMs = client.clock.monoMs()
          yield event
        }
      } finally {
        stream.close()
        lastId = stream.lastId
      }
      if (stream.wasCut || stream.end.isMove) continue
      if (backoff.tries === 0 && !stream.end.isAnnounced)
        client.notice(`the event stream ended (${stream.end.reason}); opening it again`)
      if (whenUnavailable === 'fail' && client.clock.monoMs() - lastEventMs >= FIRST_CONTACT_MS) {
        throw new UnavailableError(stream.end.reason)
      }
      await pause(client.clock, backoff.nextMs(), end.signal)
    }
  } catch (error) {
    if (!signal?.aborted) throw error
  } finally {
    sleep()
    client.open.remove(closable, openAt)
    signal?.removeEventListener('abort', stop)
  }
}

/** One stream, read at the pace of its reader. */
class BufferedStream {
  readonly #events: WireEvent[] = []
  readonly #parts = new StateParts()
  readonly #stream: { close(): void }
  #ended = false
  #refused: BatonError | undefined
  #wake = () => {}
  lastId: string | undefined
  end: StreamEnd = { reason: '' }
  wasCut = false

  constructor(transport: Transport, scope: StreamScope, lastId: string | undefined) {
    this.lastId = lastId
    this.#stream = transport.listen(
      scope,
      {
        onEvent: (event, id) => this.#add(event, id),
        onEnd: (end) => {
          const { refusal } = end
          this.end = end
          if (refusal && !errors[refusal.code]?.retryable) this.#refused = refusedError(refusal)
          this.#finish()
        },
      },
      { lastId },
    )
  }

  /** `undefined` once the stream has ended and all events are read. Throws if Baton refuses the stream for good. */
  async next(signal: AbortSignal): Promise<WireEvent | undefined> {
    signal.throwIfAborted()
    while (this.#events.length === 0 && !this.#ended) {
      const woken = new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      await abortable(woken, signal)
    }
    if (this.#events.length === 0 && this.#refused) throw this.#refused
    return this.#events.shift()
  }

  close(): void {
    this.#ended = true
    this.#stream.close()
  }

  #add(streamed: StreamedEvent, id: string | undefined): void {
    if (streamed.type === 'reset') this.#parts.clear()
    const event = streamed.type === 'state-part' ? this.#parts.add(streamed) : streamed
    if (this.#ended || !event) return
    this.#events.push(event)
    this.lastId = id ?? this.lastId
    if (this.#events.length >= BUFFER_LIMIT && id !== undefined) {
      this.wasCut = true
      this.#stream.close()
      this.#finish()
    }
    this.#wake()
  }

  #finish(): void {
    this.#ended = true
    this.#wake()
  }
}
