import { errors, type StreamScope, type WireEvent } from '../protocol/index.ts'
import type { WhenUnavailable } from './api.ts'
import { Backoff } from './backoff.ts'
import { abortable, pause } from './clock.ts'
import { FIRST_CONTACT_MS } from './contact.ts'
import { BatonError, refusedError, UnavailableError } from './errors.ts'
import type { StreamEnd, Transport } from './transport.ts'
import { wholeStates } from './whole-states.ts'
import type { Closable, Wiring } from './wiring.ts'

/** A reader that is slower than this is cut off, reads on, and then hears what it has missed. */
const BUFFER_LIMIT = 1_000

interface FeedOptions {
  readonly scope: StreamScope
  readonly signal?: AbortSignal
  readonly whenUnavailable: WhenUnavailable
}

/** Events for as long as they are read, over as many streams as it takes. */
export async function* eventFeed(
  wiring: Wiring,
  transport: Transport,
  { scope, signal, whenUnavailable }: FeedOptions,
): AsyncGenerator<WireEvent> {
  const end = new AbortController()
  const stop = () => end.abort()
  const closable: Closable = { close: () => end.abort(new BatonError('closed', 'the client was closed')) }
  if (signal?.aborted) return
  signal?.addEventListener('abort', stop, { once: true })
  const openAt = wiring.open.add(closable)
  const sleep = wiring.clock.stayAwake()
  const backoff = new Backoff(wiring.random)
  let lastId: string | undefined
  let heardAtMs = wiring.clock.monoMs()
  try {
    for (;;) {
      const stream = new BufferedStream(transport, scope, lastId)
      try {
        for (let event = await stream.next(end.signal); event; event = await stream.next(end.signal)) {
          backoff.reset()
          heardAtMs = wiring.clock.monoMs()
          yield event
        }
      } finally {
        stream.close()
        lastId = stream.lastId
      }
      if (stream.wasCut || stream.end.isMove) continue
      if (backoff.tries === 0 && !stream.end.isAnnounced)
        wiring.notice(`the event stream ended (${stream.end.reason}); opening it again`)
      if (whenUnavailable === 'fail' && wiring.clock.monoMs() - heardAtMs >= FIRST_CONTACT_MS) {
        throw new UnavailableError(stream.end.reason)
      }
      await pause(wiring.clock, backoff.nextMs(), end.signal)
    }
  } catch (error) {
    if (!signal?.aborted) throw error
  } finally {
    sleep()
    wiring.open.remove(closable, openAt)
    signal?.removeEventListener('abort', stop)
  }
}

/** One stream, read at the reader's own pace. */
class BufferedStream {
  readonly #events: WireEvent[] = []
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
      wholeStates({
        onEvent: (event, id) => this.#add(event, id),
        onEnd: (end) => {
          const { refusal } = end
          this.end = end
          if (refusal && !errors[refusal.code]?.retryable) this.#refused = refusedError(refusal)
          this.#finish()
        },
      }),
      { lastId },
    )
  }

  /** Nothing once it has ended and all that came was read. Throws where Baton does not want to be listened to. */
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

  #add(event: WireEvent, id: string | undefined): void {
    if (this.#ended) return
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
