import {
  FRAME_LIMITS,
  type ListenFrame,
  type ReplyOf,
  type RequestDefaults,
  type RequestType,
  type ServerFrame,
} from '../../protocol/index.ts'
import type { ClientClock } from '../clock.ts'
import { UnavailableError } from '../errors.ts'
import type { InputOf, StreamHandlers } from '../transport.ts'
import type { Asks } from './asks.ts'
import { requestText } from './request-text.ts'
import type { Wire } from './wire.ts'

type AnyRequest = InputOf<RequestType>
type AnyReply = ReplyOf<RequestType>

interface Call {
  readonly request: AnyRequest
  readonly resolve: (reply: AnyReply) => void
  readonly reject: (error: unknown) => void
  readonly sentAtMs: number
  readonly byMs: number
}

interface ConnectionOptions {
  readonly wire: Wire
  readonly clock: ClientClock
  readonly asks: Asks
  /** The server's greeting: it is Baton, over this store. */
  readonly onGreeting: (store: string) => void
  /** Nothing has come since something was asked, for as long as an answer may take. */
  readonly onSilence: (why: string) => void
}

/** How often calls are looked at whose time may be over. */
const CHECK_MS = 50
/** Four bytes each at most; the last request may be as large as a body. */
const CHARS_PER_FRAME = FRAME_LIMITS.bytes / 4
/** So long a request waits at most for a frame that is under way. */
const HOLD_MS = 2
/** While so much has not left, nothing more is sent: it gathers. */
const UNSENT_MAX = 1024 * 1024
/** Heartbeats come every 15 s: a connection that is silent for longer than this is dead, whatever TCP thinks. */
const SILENCE_MS = 45_000

let connections = 0

/** One connection: requests by number, their replies, and events. What comes up in a turn goes out in one frame. */
export class Connection {
  /** Tells it from those before it. */
  readonly number = ++connections
  readonly #options: ConnectionOptions
  readonly #calls = new Map<number, Call>()
  readonly #listens = new Map<number, StreamHandlers>()
  #requests: AnyRequest[] = []
  #listen: ListenFrame[] = []
  #unlisten: number[] = []
  #defaults: RequestDefaults = {}
  #lastNumber = 0
  #lastListen = 0
  #acked = 0
  #lastHeardMs: number
  #isScheduled = false
  /** A frame is under way, and nothing has come since. */
  #isAwaiting = false
  #isHolding = false
  #isChecking = false
  #isGreeted = false
  #isClosed = false

  constructor(options: ConnectionOptions) {
    this.#options = options
    this.#lastHeardMs = options.clock.monoMs()
  }

  call(request: AnyRequest, limitMs: number): Promise<AnyReply> {
    const sentAtMs = this.#options.clock.monoMs()
    this.#requests.push(request)
    this.#later()
    return new Promise((resolve, reject) => {
      this.#calls.set(++this.#lastNumber, { request, resolve, reject, sentAtMs, byMs: sentAtMs + limitMs })
      if (!this.#isChecking) this.#check()
    })
  }

  listen(frame: Omit<ListenFrame, 'id'>, handlers: StreamHandlers): { close(): void } {
    const id = ++this.#lastListen
    this.#listens.set(id, handlers)
    this.#listen.push({ id, ...frame })
    this.#later()
    if (!this.#isChecking) this.#check()
    return {
      close: () => {
        if (!this.#listens.delete(id) || this.#isClosed) return
        this.#unlisten.push(id)
        this.#later()
      },
    }
  }

  onText(text: string): void {
    this.#lastHeardMs = this.#options.clock.monoMs()
    this.#isAwaiting = false
    if (this.#requests.length > 0) this.#later()
    const { store, replies, events, ended } = JSON.parse(text) as ServerFrame
    if (store !== undefined) {
      this.#isGreeted = true
      this.#options.onGreeting(store)
    }
    if (replies) for (const [number, reply] of replies) this.#replied(number, reply)
    if (events) for (const [id, eventId, event] of events) this.#listens.get(id)?.onEvent(event, eventId)
    for (const [id, refusal] of ended ?? []) {
      const handlers = this.#listens.get(id)
      this.#listens.delete(id)
      handlers?.onEnd(refusal.message, refusal)
    }
  }

  onBeat(): void {
    this.#lastHeardMs = this.#options.clock.monoMs()
  }

  /** It is over: calls reject with the error, or are answered where Baton itself has said no. */
  end(error: UnavailableError, answer?: AnyReply): void {
    if (this.#isClosed) return
    this.#isClosed = true
    const calls = [...this.#calls.values()]
    const listens = [...this.#listens.values()]
    this.#calls.clear()
    this.#listens.clear()
    this.#options.wire.close()
    for (const { resolve, reject } of calls) {
      if (answer) resolve(answer)
      else reject(error)
    }
    const refusal = answer?.status === 'refused' ? answer : undefined
    for (const { onEnd } of listens) onEnd(refusal?.message ?? error.message, refusal)
  }

  #replied(number: number, reply: AnyReply): void {
    const call = this.#calls.get(number)
    if (!call) return
    this.#calls.delete(number)
    this.#options.asks.answered(call.request, reply)
    call.resolve(reply)
  }

  /** When all that runs in this turn has run: whoever was answered may ask for the next thing. */
  #later(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    process.nextTick(() => this.#flush())
  }

  #flush(): void {
    this.#isScheduled = false
    const { wire } = this.#options
    while (!this.#isClosed && wire.unsent < UNSENT_MAX && !this.#isGathering()) {
      const text = this.#nextFrame()
      if (text === undefined) return
      this.#isAwaiting = true
      wire.send(text, () => {
        if (this.#requests.length > 0) this.#later()
      })
    }
  }

  /**
   * While a frame is under way, what comes up gathers for the next one, for a moment at most: many callers then share a frame,
   * and one that is alone never waits.
   */
  #isGathering(): boolean {
    if (!this.#isAwaiting || this.#requests.length === 0) return false
    if (!this.#isHolding) {
      this.#isHolding = true
      this.#options.clock.after(HOLD_MS, () => {
        this.#isHolding = false
        this.#isAwaiting = false
        this.#flush()
      })
    }
    return true
  }

  #nextFrame(): string | undefined {
    const from = this.#lastNumber - this.#requests.length + 1
    const fields: string[] = []
    const keep: number[] = []
    if (this.#hasNewDefaults()) fields.push(`"defaults":${JSON.stringify(this.#defaults)}`)
    const texts = this.#nextTexts(from, keep)
    if (texts.length > 0) fields.push(`"from":${from},"requests":[${texts.join(',')}]`)
    if (keep.length > 0) fields.push(`"keep":${JSON.stringify(keep)}`)
    if (this.#listen.length > 0) fields.push(`"listen":${JSON.stringify(this.#listen)}`)
    if (this.#unlisten.length > 0) fields.push(`"unlisten":${JSON.stringify(this.#unlisten)}`)
    if (fields.length === 0) return undefined
    const acked = this.#ackedBefore(from)
    if (acked > this.#acked) {
      this.#acked = acked
      fields.push(`"acked":${acked}`)
    }
    this.#listen = []
    this.#unlisten = []
    return `{${fields.join(',')}}`
  }

  /** Those of the first ask, and again where there is another session. */
  #hasNewDefaults(): boolean {
    const ask = this.#requests.find((request): request is InputOf<'acquire'> => request.type === 'acquire')
    if (!ask || ask.session === this.#defaults.session) return false
    const { namespace, node, session } = ask
    this.#defaults = { namespace, node, session }
    return true
  }

  /** As many requests as go into one frame, as text; those among them that have to be remembered. */
  #nextTexts(from: number, keep: number[]): string[] {
    const texts: string[] = []
    let chars = 0
    for (const request of this.#requests) {
      if (texts.length === FRAME_LIMITS.requests || chars > CHARS_PER_FRAME) break
      if (!this.#options.asks.isOnOneConnection(request, this.number)) keep.push(from + texts.length)
      const text = requestText(request, this.#defaults)
      chars += text.length
      texts.push(text)
    }
    this.#requests = texts.length === this.#requests.length ? [] : this.#requests.slice(texts.length)
    return texts
  }

  /** The replies up to this one have all come. `from`: of the first that is not sent yet. */
  #ackedBefore(from: number): number {
    const oldest = this.#calls.keys().next()
    return Math.min(oldest.done ? this.#lastNumber : oldest.value - 1, from - 1)
  }

  /** One timer for all calls: it runs while there are any. */
  #check(): void {
    this.#isChecking = this.#calls.size > 0 || this.#listens.size > 0
    if (!this.#isChecking || this.#isClosed) return
    this.#options.clock.after(CHECK_MS, () => {
      if (this.#isClosed) return
      this.#expire(this.#options.clock.monoMs())
      this.#check()
    })
  }

  #expire(nowMs: number): void {
    const late = [...this.#calls.values()].find(({ byMs }) => byMs <= nowMs)
    // Not a word since that was asked: it is not that answer alone that does not come.
    if (late && this.#lastHeardMs <= late.sentAtMs) {
      this.#options.onSilence(`nothing came for ${Math.round(nowMs - late.sentAtMs)} ms`)
      return
    }
    if (nowMs - this.#lastHeardMs > SILENCE_MS) {
      this.#options.onSilence(`nothing came for ${SILENCE_MS} ms`)
      return
    }
    for (const [number, call] of this.#calls) {
      if (call.byMs > nowMs) continue
      // Its number stays: what is not answered is not acknowledged.
      this.#calls.set(number, { ...call, byMs: Infinity, resolve: () => {}, reject: () => {} })
      call.reject(new UnavailableError(`nothing came for ${Math.round(nowMs - call.sentAtMs)} ms`))
    }
  }

  /** The server has said that it is one. */
  get isGreeted(): boolean {
    return this.#isGreeted
  }
}
