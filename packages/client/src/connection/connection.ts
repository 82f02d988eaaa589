import type { ListenFrame, RequestType, ServerFrame } from '@baton-lock/protocol'
import type { ClientClock } from '../clock.ts'
import { UnavailableError } from '../errors.ts'
import { Numbered } from './numbered.ts'
import { Outbox } from './outbox.ts'
import type { SentHolds } from './sent-holds.ts'
import type { InputOf, OnReply, StreamHandlers } from './transport.ts'
import type { Wire, WireEnd, WireHandlers } from './web-socket.ts'

type AnyRequest = InputOf<RequestType>

interface Call {
  readonly request: AnyRequest
  readonly onReply: OnReply<RequestType>
  readonly sentAtMs: number
  readonly deadlineMs: number
  /** The caller was told that no reply came. */
  readonly isGivenUp?: boolean
}

interface ConnectionOptions {
  readonly dial: (handlers: WireHandlers) => Wire
  readonly clock: ClientClock
  readonly sentHolds: SentHolds
  /** The server's greeting with the id of its store. */
  readonly onGreeting: (store: string) => void
  /** The server is about to stop. */
  readonly onDraining: () => void
  /** It broke, or nothing comes any more. `end` is still to be called. */
  readonly onEnd: (end: WireEnd) => void
}

/** A server greets a client that it lets in within this time. */
const GREETING_MS = 5_000
/** With fewer of them, client and server would wait for one another; with more, frames would be small. */
const FRAMES_UNDER_WAY = 8
/**
 * This many requests are sent before the end of the turn: the server begins with them while this process makes the next ones.
 * Otherwise each of the two would be idle while the other one works.
 */
const EARLY_REQUESTS = 16
/** How long a request waits at most for frames that are under way. */
const HOLD_MS = 2
/** Nothing more is sent while this much has not left the process. */
const UNSENT_MAX = 1024 * 1024
/** The server sends heartbeats every 15 s: after this silence the connection is dead, whatever TCP reports. */
const SILENCE_MS = 45_000
/** How long a server recognises a repeated release. */
const REPEATED_MS = 60_000

const NOT_GREETED =
  'the server cannot be reached, or a proxy in between accepts WebSockets and drops their frames, and has to pass them on'

let connections = 0

/** One connection to a server: numbered requests, their replies, and events. The requests of one turn share a frame. */
export class Connection implements WireHandlers {
  /** Distinguishes it from earlier ones. */
  readonly number = ++connections
  readonly #options: ConnectionOptions
  readonly #wire: Wire
  readonly #calls = new Numbered<Call>()
  readonly #listens = new Map<number, StreamHandlers>()
  readonly #outbox: Outbox
  readonly #cancelGreeting: () => void
  #lastListen = 0
  #lastTextMs: number
  #isScheduled = false
  /** An estimate of the frames without an answer: each frame that arrives is taken for the answer to one. */
  #underWay = 0
  #isHolding = false
  /** When deadlines are checked next; `Infinity` if there are none. */
  #checkAtMs = Infinity
  #cancelCheck = () => {}
  #isGreeted = false
  #isLeaving = false
  #isClosed = false

  constructor(options: ConnectionOptions) {
    this.#options = options
    this.#outbox = new Outbox(options.sentHolds, this.number)
    this.#lastTextMs = options.clock.monoMs()
    this.#wire = options.dial(this)
    this.#cancelGreeting = options.clock.after(GREETING_MS, () =>
      this.#useless(`no greeting came for ${GREETING_MS} ms`),
    )
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  send(request: AnyRequest, timeoutMs: number, onReply: OnReply<RequestType>): void {
    const sentAtMs = this.#options.clock.monoMs()
    const deadlineMs = sentAtMs + timeoutMs
    this.#outbox.add(request)
    this.#calls.add({ request, onReply, sentAtMs, deadlineMs })
    if (this.#outbox.requests >= EARLY_REQUESTS) this.#flush()
    else this.#flushLater()
    if (deadlineMs < this.#checkAtMs) this.#checkAt(deadlineMs)
  }

  listen(frame: Omit<ListenFrame, 'id'>, handlers: StreamHandlers): { close(): void } {
    const id = ++this.#lastListen
    this.#listens.set(id, handlers)
    this.#outbox.listen({ id, ...frame })
    this.#flushLater()
    if (this.#checkAtMs === Infinity) this.#checkAt(this.#silentAtMs())
    return {
      close: () => {
        if (!this.#listens.delete(id) || this.#isClosed) return
        this.#outbox.unlisten(id)
        this.#flushLater()
      },
    }
  }

  /** Sends nothing more. When all requests are answered it is over, and its streams move. */
  leave(): void {
    this.#isLeaving = true
    this.#leaveIfAnswered()
  }

  /** It is over: requests fail with the error, or get the refusal as their reply. */
  end(error: UnavailableError, refusal?: WireEnd['refusal']): void {
    if (this.#isClosed) return
    const calls = [...this.#calls.entries()]
    const listens = this.#close()
    for (const [, { onReply, isGivenUp }] of calls) if (!isGivenUp) onReply(refusal, error)
    const { isAnnounced } = error
    for (const { onEnd } of listens) onEnd({ reason: refusal?.message ?? error.message, refusal, isAnnounced })
  }

  onText(text: string): void {
    if (this.#isClosed) return
    this.#lastTextMs = this.#options.clock.monoMs()
    const frame = frameIn(text)
    if (!frame) {
      this.#useless('it sent something that is not a frame of Baton')
      return
    }
    if (this.#underWay > 0) this.#underWay--
    if (this.#outbox.requests > 0) this.#flushLater()
    const { store, replies, events, ended, draining } = frame
    if (store !== undefined) this.#greeted(store)
    for (const [number, reply] of replies ?? []) {
      const call = this.#calls.get(number)
      if (call?.isGivenUp) this.#repliedLate(number, call)
      else if (call) {
        this.#calls.delete(number)
        this.#options.sentHolds.answered(call.request, reply)
        call.onReply(reply)
      }
    }
    // This client never asks for gathered events.
    for (const [id, eventId, event] of events ?? [])
      if (event.type !== 'gathered') this.#listens.get(id)?.onEvent(event, eventId)
    for (const [id, refusal] of ended ?? []) {
      const handlers = this.#listens.get(id)
      this.#listens.delete(id)
      handlers?.onEnd({ reason: refusal.message, refusal })
    }
    if (draining) this.#options.onDraining()
    if (this.#isLeaving) this.#leaveIfAnswered()
  }

  onBeat(): void {
    this.#lastTextMs = this.#options.clock.monoMs()
  }

  onEnd(end: WireEnd): void {
    if (!this.#isClosed) this.#options.onEnd(end)
  }

  #greeted(store: string): void {
    this.#isGreeted = true
    this.#cancelGreeting()
    this.#options.onGreeting(store)
  }

  /** Returns those who listened: they are still to be told why it ended. */
  #close(): readonly StreamHandlers[] {
    const listens = [...this.#listens.values()]
    this.#isClosed = true
    this.#calls.clear()
    this.#listens.clear()
    this.#cancelCheck()
    this.#cancelGreeting()
    this.#wire.close()
    return listens
  }

  #leaveIfAnswered(): void {
    if (this.#isClosed) return
    for (const [, { isGivenUp }] of this.#calls.entries()) if (!isGivenUp) return
    for (const { onEnd } of this.#close()) onEnd({ reason: 'the server is about to stop', isMove: true })
  }

  #repliedLate(number: number, call: Call): void {
    if (call.request.type === 'release') {
      // Its caller repeats it, perhaps elsewhere: until then it is not acknowledged.
      const deadlineMs = this.#options.clock.monoMs() + REPEATED_MS
      this.#calls.replace(number, { ...call, deadlineMs })
    } else this.#calls.delete(number)
  }

  /** At the end of this turn: a caller that got its reply in it may send the next request. */
  #flushLater(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    process.nextTick(() => {
      this.#isScheduled = false
      this.#flush()
    })
  }

  #flush(): void {
    while (!this.#isClosed && this.#wire.unsent < UNSENT_MAX && !this.#isGathering()) {
      const text = this.#outbox.nextFrame(this.#calls.oldest)
      if (text === undefined) return
      this.#underWay++
      this.#wire.send(text, () => {
        if (this.#outbox.requests > 0) this.#flushLater()
      })
    }
  }

  /**
   * While several frames are under way, requests are gathered for the next one, for a moment at most: many callers then share a
   * frame, and a single caller never waits.
   */
  #isGathering(): boolean {
    if (this.#underWay < FRAMES_UNDER_WAY || this.#outbox.requests === 0) return false
    if (!this.#isHolding) {
      this.#isHolding = true
      this.#options.clock.after(HOLD_MS, () => {
        this.#isHolding = false
        this.#underWay = 0
        this.#flush()
      })
    }
    return true
  }

  /** One timer for all deadlines: the first of the requests, and the silence of the server. */
  #checkAt(atMs: number): void {
    const { clock } = this.#options
    this.#cancelCheck()
    this.#checkAtMs = atMs
    this.#cancelCheck = clock.after(Math.max(1, atMs - clock.monoMs()), () => {
      this.#checkAtMs = Infinity
      this.#checkDeadlines(clock.monoMs())
      if (this.#isClosed || (this.#calls.isEmpty && this.#listens.size === 0)) return
      let nextMs = this.#silentAtMs()
      for (const [, { deadlineMs }] of this.#calls.entries()) nextMs = Math.min(nextMs, deadlineMs)
      this.#checkAt(nextMs)
    })
  }

  #silentAtMs(): number {
    return this.#lastTextMs + SILENCE_MS
  }

  #checkDeadlines(nowMs: number): void {
    const calls = [...this.#calls.entries()]
    const late = calls.find(([, { deadlineMs, isGivenUp }]) => deadlineMs <= nowMs && !isGivenUp)?.[1]
    // Nothing at all came since that request: more than its reply is missing.
    if (late && this.#lastTextMs <= late.sentAtMs) {
      this.#useless(`nothing came for ${Math.round(nowMs - late.sentAtMs)} ms`)
      return
    }
    if (nowMs >= this.#silentAtMs()) {
      this.#useless(`nothing came for ${SILENCE_MS} ms`)
      return
    }
    for (const [number, call] of calls) {
      if (call.deadlineMs > nowMs) continue
      if (call.isGivenUp) {
        this.#calls.delete(number)
        continue
      }
      // Its number stays: a request without a reply is not acknowledged.
      this.#calls.replace(number, { ...call, deadlineMs: Infinity, isGivenUp: true })
      call.onReply(undefined, new UnavailableError(`nothing came for ${Math.round(nowMs - call.sentAtMs)} ms`))
    }
    if (this.#isLeaving) this.#leaveIfAnswered()
  }

  #useless(why: string): void {
    const error = new UnavailableError(this.#isGreeted ? why : `${why}: ${NOT_GREETED}`)
    this.onEnd({ error })
  }
}

/** What a server has sent; `undefined` if it is not a frame. */
function frameIn(text: string): ServerFrame | undefined {
  try {
    const frame: unknown = JSON.parse(text)
    return typeof frame === 'object' && frame !== null ? frame : undefined
  } catch {
    return undefined
  }
}
