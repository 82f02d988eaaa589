import type {
  ClientFrame,
  ErrorBody,
  GatheredEvent,
  ReplyOf,
  RequestDefaults,
  RequestType,
  ServerFrame,
  StreamedEvent,
} from '@baton-lock/protocol'
import { isReading, type Service, type Timers } from '@baton-lock/service'
import type { Asker, Guard } from '../auth/guard.ts'
import { checkDepth } from '../http/json.ts'
import { type ServerLimits, STATE_PART_BYTES } from '../limits.ts'
import type { RequestLog } from '../logging/request-log.ts'
import type { Account, FairQueue } from '../scheduling/fair-queue.ts'
import type { Streams } from '../streams/streams.ts'
import type { Admission } from '../v1/admission.ts'
import { check } from '../v1/check.ts'
import { BadFrame, completed, frameFrom } from './frame.ts'
import { Inbox } from './inbox.ts'
import { Listens } from './listens.ts'
import { type NumberedRequest, Reads } from './reads.ts'
import { Released } from './unacknowledged-releases.ts'

/** What carries frames: a WebSocket, or its stand-in in a test. In order, and each at most once. */
export interface Wire {
  send(text: string): void
  /** Bytes that were sent and that the client has not taken. */
  readonly unsent: number
  /** Called with how many bytes more, or fewer, the server keeps for the client until it has its turn. */
  wait(change: number): void
  /** Stops reading until `resume`. */
  pause(): void
  resume(): void
  /** Ends it: `broken` if the client has broken a rule, `slow` if it does not read, `failed` if this server cannot continue. */
  end(how: 'broken' | 'slow' | 'failed', why: string): void
}

export interface PeerStreamOptions {
  readonly service: Service
  readonly wire: Wire
  readonly timers: Timers
  /** Whose stream it is. */
  readonly asker: Asker
  readonly admission: Pick<Admission, 'admit'>
  readonly guard: Pick<Guard, 'checkScope'>
  readonly streams: Pick<Streams, 'watch'>
  readonly requestLog: Pick<RequestLog, 'failed' | 'named'>
  /** Gives each client its turns. */
  readonly queue: Pick<FairQueue, 'run'>
  /** What the client has used of the processor. */
  readonly account: Account
  readonly limits: Pick<ServerLimits, 'streamBytes' | 'replyBytes'>
  /** Names the stream in the log. */
  readonly id: string
}

/** While more requests than this are unanswered, the socket is not read. */
const UNANSWERED_MAX = 10_000

/** Why a client that does not read is cut. */
export const TOO_SLOW = 'the client reads too slowly; reconnect and ask where things stand'

type AnyReply = ReplyOf<RequestType>

/**
 * One client on its stream. Each frame takes the same path in a turn of its client: parse; authorize and admit each request; carry
 * them out together. What comes up in a turn (replies and events) goes back in one frame.
 */
export class PeerStream {
  readonly #options: PeerStreamOptions
  readonly #inbox: Inbox
  readonly #listens: Listens
  readonly #reads: Reads
  readonly #released = new Released()
  #replies: [number: number, reply: AnyReply][] = []
  #events: [listen: number, id: string, event: StreamedEvent | GatheredEvent][] = []
  #ended: [listen: number, refusal: ErrorBody][] = []
  #defaults: RequestDefaults = {}
  /** Called when the client has taken what was sent, or nearly all of it. */
  readonly #onTaken: (() => void)[] = []
  #lastNumber = 0
  #unanswered = 0
  #isPaused = false
  #isScheduled = false
  #isInLine = false
  #isClosed = false

  constructor(options: PeerStreamOptions) {
    this.#options = options
    const { wire } = options
    this.#inbox = new Inbox((change) => wire.wait(change))
    this.#reads = new Reads({
      answer: (read) => new Promise((resolve) => this.#run(() => resolve(this.#read(read)))),
      mayGoOn: () => !this.#isClosed && !this.#isFull,
    })
    this.#listens = new Listens({
      ...options,
      tell: (id, eventId, event, when) => {
        this.#events.push([id, eventId, event])
        if (when === 'soon') this.#flushSoon()
        else this.#flushInTurn()
      },
      onEnded: (id, error) => {
        this.#ended.push([id, this.#failure(error)])
        this.#flushSoon()
      },
      taken: () => this.#taken(),
      onWaiting: (change) => wire.wait(change),
    })
    wire.send(JSON.stringify({ store: options.service.storeId } satisfies ServerFrame))
  }

  receive(text: string): void {
    if (this.#isClosed) return
    this.#inbox.add(text)
    this.#run(this.#takeFrame)
    this.#pauseOrResume()
  }

  /** Runs work for this client: at once, or after others have had their turns. */
  #run(work: () => void): void {
    const { queue, account } = this.#options
    queue.run(account, work)
  }

  /** One turn: the next frame, or the next requests of a large one. */
  readonly #takeFrame = (): void => {
    const { service, wire } = this.#options
    const next = this.#inbox.take()
    if (next === undefined) return
    try {
      const frame = this.#inbox.divide(typeof next === 'string' ? frameFrom(next, this.#lastNumber) : next)
      this.#note(frame)
      const { steps, reads } = this.#admit(frame)
      if (steps.length > 0)
        void service.callAll(steps, (index, reply, error) => this.#answer(steps[index]!, reply, error))
      if (!this.#isClosed) this.#reads.add(reads)
      if (this.#inbox.hasRest) this.#run(this.#takeFrame)
      if (!this.#isClosed) this.#listens.change(frame)
    } catch (error) {
      if (!(error instanceof BadFrame)) throw error
      wire.end('broken', error.message)
      this.break()
    }
    this.#pauseOrResume()
  }

  /** Notes what a frame says about other frames. */
  #note({ defaults, acked, from = 0, requests }: ClientFrame): void {
    if (defaults) this.#defaults = defaults
    if (acked !== undefined) for (const ask of this.#released.upTo(acked)) this.#options.service.acknowledge(ask)
    if (requests) this.#lastNumber = from + requests.length - 1
  }

  /** Checks and authorizes each request. One that is refused is answered. */
  #admit({ from = 0, requests = [], keep }: ClientFrame) {
    const { admission, asker, id: stream } = this.#options
    const steps: NumberedRequest[] = []
    const reads: NumberedRequest[] = []
    for (const [index, each] of requests.entries()) {
      const number = from + index
      try {
        const input = completed(each, this.#defaults)
        checkDepth(input)
        const admitted = admission.admit(asker, check(input), () => ({ stream, request: number }))
        if (!('request' in admitted)) {
          this.#reply(number, admitted)
          continue
        }
        const { request, facts, onAnswer } = admitted
        const numbered = { request, facts, onAnswer, number, keep }
        if (isReading(request)) reads.push(numbered)
        else steps.push(numbered)
      } catch (error) {
        this.#reply(number, this.#failure(error, number))
      }
    }
    this.#unanswered += steps.length + reads.length
    return { steps, reads }
  }

  async #read(read: NumberedRequest): Promise<void> {
    const { service, limits } = this.#options
    const { request, facts } = read
    const budget = service.budget({ bytes: limits.replyBytes, isGone: () => this.#isClosed })
    await service.call(request, facts, budget).then(
      (reply) => this.#answer(read, reply),
      (error) => this.#answer(read, undefined, error),
    )
  }

  #answer(asked: NumberedRequest, reply: AnyReply | undefined, error?: unknown): void {
    const { number, keep } = asked
    this.#unanswered--
    asked.onAnswer?.(reply, error)
    if (reply?.status === 'released' && !keep?.includes(number)) this.#released.add(number, asked)
    this.#reply(number, reply ?? this.#failure(error, number))
  }

  /** Tells its client to move. Requests that were sent, and those that are sent nevertheless, are answered as before. */
  drain(): void {
    if (!this.#isClosed) this.#options.wire.send(JSON.stringify({ draining: true } satisfies ServerFrame))
  }

  /** The client has taken some of what it had left unread. */
  drained(): void {
    this.#pauseOrResume()
    void this.#reads.goOn()
    if (this.#options.wire.unsent <= STATE_PART_BYTES) for (const callback of this.#onTaken.splice(0)) callback()
  }

  /** Its client has broken a rule: what it has sent and was not begun is dropped. */
  break(): void {
    this.#inbox.clear()
    this.close()
  }

  /** The client has left. Nothing more is sent; what it has asked is still carried out. */
  close(): void {
    this.#isClosed = true
    this.#reads.clear()
    this.#listens.endAll()
    for (const callback of this.#onTaken.splice(0)) callback()
  }

  async #taken(): Promise<boolean> {
    if (!this.#isClosed) await new Promise<void>((resolve) => this.#onTaken.push(resolve))
    return !this.#isClosed
  }

  #failure(error: unknown, number?: number): ErrorBody {
    const { requestLog, id: stream } = this.#options
    const name = number === undefined ? { stream } : { stream, request: number }
    return requestLog.failed(error, () => requestLog.named(name))
  }

  #reply(number: number, reply: AnyReply): void {
    this.#replies.push([number, reply])
    this.#flushSoon()
  }

  /** At the end of this turn of the event loop, with all that has come up until then. */
  #flushSoon(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    queueMicrotask(() => {
      this.#isScheduled = false
      this.#flush()
    })
  }

  /** When it is this client's turn. */
  #flushInTurn(): void {
    if (this.#isInLine) return
    this.#isInLine = true
    queueMicrotask(() =>
      this.#run(() => {
        this.#isInLine = false
        this.#flush()
      }),
    )
  }

  #flush(): void {
    if (this.#isClosed || this.#replies.length + this.#events.length + this.#ended.length === 0) return
    const { wire, limits } = this.#options
    const frame: ServerFrame = {
      ...(this.#replies.length > 0 && { replies: this.#replies }),
      ...(this.#events.length > 0 && { events: this.#events }),
      ...(this.#ended.length > 0 && { ended: this.#ended }),
    }
    this.#replies = []
    this.#events = []
    this.#ended = []
    // A burst does not make a reader slow; not having taken what came before it does.
    if (wire.unsent > limits.streamBytes) wire.end('slow', TOO_SLOW)
    else wire.send(JSON.stringify(frame))
    this.#pauseOrResume()
  }

  get #isFull(): boolean {
    const { wire, limits } = this.#options
    return wire.unsent > limits.streamBytes / 2
  }

  /** A client that does not read its replies gets no more of them; events it gets up to a limit. */
  #pauseOrResume(): void {
    if (this.#isClosed) return
    const { wire } = this.#options
    const isFull = this.#isFull || this.#unanswered > UNANSWERED_MAX || this.#inbox.isFull
    if (isFull === this.#isPaused) return
    this.#isPaused = isFull
    if (isFull) wire.pause()
    else wire.resume()
  }
}
