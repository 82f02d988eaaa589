import type { ListenFrame, ReplyOf, RequestType, ServerFrame } from '../../protocol/index.ts'
import type { ClientClock } from '../clock.ts'
import { UnavailableError } from '../errors.ts'
import type { InputOf, StreamHandlers, Tell } from '../transport.ts'
import type { Asks } from './asks.ts'
import { Numbered } from './numbered.ts'
import { Outbox } from './outbox.ts'
import type { Wire, WireEnd } from './wire.ts'

type AnyRequest = InputOf<RequestType>
type AnyReply = ReplyOf<RequestType>

interface Call {
  readonly request: AnyRequest
  readonly tell: Tell<RequestType>
  readonly sentAtMs: number
  readonly byMs: number
  /** Nobody waits for its answer any more. */
  readonly isGivenUp?: boolean
}

interface ConnectionOptions {
  readonly wire: Wire
  readonly clock: ClientClock
  readonly asks: Asks
  /** The server is about to stop. */
  readonly onDraining: () => void
  /** The server's greeting: it is Baton, over this store. */
  readonly onGreeting: (store: string) => void
  /** It is of no use: nothing comes for longer than an answer may take, or what comes is not Baton's. */
  readonly onUseless: (end: WireEnd) => void
}

/** With fewer of them, client and server would wait for one another; with more, frames would be small. */
const FRAMES_UNDER_WAY = 8
/**
 * So many requests do not wait for the end of the turn: the server begins with them while this process makes the next ones.
 * Otherwise each of the two would be idle while the other one works.
 */
const EARLY_REQUESTS = 16
/** So long a request waits at most for frames that are under way. */
const HOLD_MS = 2
/** While so much has not left, nothing more is sent: it gathers. */
const UNSENT_MAX = 1024 * 1024
/** Heartbeats come every 15 s: a connection that is silent for longer than this is dead, whatever TCP thinks. */
const SILENCE_MS = 45_000
/** For so long a server recognises a release that is repeated. */
const REPEATED_MS = 60_000

let connections = 0

/** One connection: requests by number, their replies, and events. What comes up in a turn goes out in one frame, or in a few. */
export class Connection {
  /** Tells it from those before it. */
  readonly number = ++connections
  readonly #options: ConnectionOptions
  readonly #calls = new Numbered<Call>()
  readonly #listens = new Map<number, StreamHandlers>()
  readonly #outbox: Outbox
  #lastListen = 0
  #lastHeardMs: number
  #isScheduled = false
  /** So many frames are under way, as far as is known: each that comes is taken for the answer to one. */
  #underWay = 0
  #isHolding = false
  /** When the next look at what is late is due; never where there is nothing that could be. */
  #checkAtMs = Infinity
  #cancelCheck = () => {}
  #isGreeted = false
  #isLeaving = false
  #isClosed = false

  constructor(options: ConnectionOptions) {
    this.#options = options
    this.#outbox = new Outbox(options.asks, this.number)
    this.#lastHeardMs = options.clock.monoMs()
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** The server has said that it is one. */
  get isGreeted(): boolean {
    return this.#isGreeted
  }

  send(request: AnyRequest, limitMs: number, tell: Tell<RequestType>): void {
    const sentAtMs = this.#options.clock.monoMs()
    const byMs = sentAtMs + limitMs
    this.#outbox.add(request)
    this.#calls.add({ request, tell, sentAtMs, byMs })
    if (this.#outbox.requests >= EARLY_REQUESTS) this.#flush()
    else this.#later()
    if (byMs < this.#checkAtMs) this.#checkAt(byMs)
  }

  listen(frame: Omit<ListenFrame, 'id'>, handlers: StreamHandlers): { close(): void } {
    const id = ++this.#lastListen
    this.#listens.set(id, handlers)
    this.#outbox.listen({ id, ...frame })
    this.#later()
    if (this.#checkAtMs === Infinity) this.#checkAt(this.#silentAtMs())
    return {
      close: () => {
        if (!this.#listens.delete(id) || this.#isClosed) return
        this.#outbox.unlisten(id)
        this.#later()
      },
    }
  }

  onText(text: string): void {
    this.#lastHeardMs = this.#options.clock.monoMs()
    const frame = frameIn(text)
    if (!frame) {
      this.#useless('what it sent is no frame', { isForbidden: !this.#isGreeted })
      return
    }
    if (this.#underWay > 0) this.#underWay--
    if (this.#outbox.requests > 0) this.#later()
    const { store, replies, events, ended, draining } = frame
    if (store !== undefined) {
      this.#isGreeted = true
      this.#options.onGreeting(store)
    }
    if (replies) for (const [number, reply] of replies) this.#replied(number, reply)
    // Nobody here listens in a way that gathers.
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

  /** Nothing more is sent on it: when all that was asked is answered it is over, and its streams move. */
  leave(): void {
    this.#isLeaving = true
    this.#leaveIfAnswered()
  }

  onBeat(): void {
    this.#lastHeardMs = this.#options.clock.monoMs()
  }

  /** It is over: calls reject with the error, or are answered where Baton itself has said no. */
  end(error: UnavailableError, answer?: AnyReply): void {
    if (this.#isClosed) return
    const calls = [...this.#calls.entries()]
    const listens = this.#close()
    for (const [, { tell, isGivenUp }] of calls) if (!isGivenUp) tell(answer, error)
    const refusal = answer?.status === 'refused' ? answer : undefined
    const { isAnnounced } = error
    for (const { onEnd } of listens) onEnd({ reason: refusal?.message ?? error.message, refusal, isAnnounced })
  }

  /** Who listened is still to be told why it is over. */
  #close(): readonly StreamHandlers[] {
    const listens = [...this.#listens.values()]
    this.#isClosed = true
    this.#calls.clear()
    this.#listens.clear()
    this.#cancelCheck()
    this.#options.wire.close()
    return listens
  }

  #leaveIfAnswered(): void {
    if (this.#isClosed) return
    for (const [, { isGivenUp }] of this.#calls.entries()) if (!isGivenUp) return
    for (const { onEnd } of this.#close()) onEnd({ reason: 'the server is about to stop', isMove: true })
  }

  #replied(number: number, reply: AnyReply): void {
    const call = this.#calls.get(number)
    if (!call) return
    if (call.isGivenUp && call.request.type === 'release') {
      // Its asker has not heard this and repeats it, perhaps elsewhere: until then it is not acknowledged.
      const byMs = this.#options.clock.monoMs() + REPEATED_MS
      this.#calls.replace(number, { ...call, byMs })
      return
    }
    this.#calls.delete(number)
    if (call.isGivenUp) return
    this.#options.asks.answered(call.request, reply)
    call.tell(reply)
  }

  /** When all that runs in this turn has run: whoever was answered may ask for the next thing. */
  #later(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    process.nextTick(() => {
      this.#isScheduled = false
      this.#flush()
    })
  }

  #flush(): void {
    const { wire } = this.#options
    while (!this.#isClosed && wire.unsent < UNSENT_MAX && !this.#isGathering()) {
      const text = this.#outbox.nextFrame(this.#calls.oldest)
      if (text === undefined) return
      this.#underWay++
      wire.send(text, () => {
        if (this.#outbox.requests > 0) this.#later()
      })
    }
  }

  /**
   * While several frames are under way, what comes up gathers for the next one, for a moment at most: many callers then share a
   * frame, and one that is alone never waits.
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

  /** One timer for all: for the call whose time is over first, and for the silence of the server. */
  #checkAt(atMs: number): void {
    const { clock } = this.#options
    this.#cancelCheck()
    this.#checkAtMs = atMs
    this.#cancelCheck = clock.after(Math.max(1, atMs - clock.monoMs()), () => {
      this.#checkAtMs = Infinity
      this.#expire(clock.monoMs())
      if (this.#isClosed || (this.#calls.isEmpty && this.#listens.size === 0)) return
      let nextMs = this.#silentAtMs()
      for (const [, { byMs }] of this.#calls.entries()) nextMs = Math.min(nextMs, byMs)
      this.#checkAt(nextMs)
    })
  }

  #silentAtMs(): number {
    return this.#lastHeardMs + SILENCE_MS
  }

  #expire(nowMs: number): void {
    const calls = [...this.#calls.entries()]
    const late = calls.find(([, { byMs, isGivenUp }]) => byMs <= nowMs && !isGivenUp)?.[1]
    // Not a word since that was asked: it is not that answer alone that does not come.
    if (late && this.#lastHeardMs <= late.sentAtMs) {
      this.#useless(`nothing came for ${Math.round(nowMs - late.sentAtMs)} ms`)
      return
    }
    if (nowMs >= this.#silentAtMs()) {
      this.#useless(`nothing came for ${SILENCE_MS} ms`)
      return
    }
    for (const [number, call] of calls) {
      if (call.byMs > nowMs) continue
      if (call.isGivenUp) {
        this.#calls.delete(number)
        continue
      }
      // Its number stays: what is not answered is not acknowledged.
      this.#calls.replace(number, { ...call, byMs: Infinity, isGivenUp: true })
      call.tell(undefined, new UnavailableError(`nothing came for ${Math.round(nowMs - call.sentAtMs)} ms`))
    }
    if (this.#isLeaving) this.#leaveIfAnswered()
  }

  #useless(why: string, { isForbidden = false } = {}): void {
    this.#options.onUseless({ error: new UnavailableError(why), isForbidden })
  }
}

/** What a server has sent; nothing where it cannot be one of Baton's. */
function frameIn(text: string): ServerFrame | undefined {
  try {
    const frame: unknown = JSON.parse(text)
    return typeof frame === 'object' && frame !== null ? frame : undefined
  } catch {
    return undefined
  }
}
