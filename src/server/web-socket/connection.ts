import type {
  ErrorBody,
  GatheredEvent,
  ListenFrame,
  ReplyOf,
  RequestDefaults,
  RequestType,
  ServerFrame,
  StreamedEvent,
  Who,
} from '../../protocol/index.ts'
import { isReading, type Service, type Timers } from '../../service/index.ts'
import type { Admitted } from '../admission.ts'
import { STATE_PART_BYTES } from '../limits.ts'
import { BadFrame, completed, frameFrom } from './frame.ts'
import { Inbox, type NumberedRequests } from './inbox.ts'
import { Listens } from './listens.ts'
import { type NumberedRead, Reads } from './reads.ts'
import { Released } from './released.ts'

/** What carries frames: a WebSocket, or what a test has in its place. In order, and each once at most. */
export interface Wire {
  send(text: string): void
  /** Bytes that were sent and have not been taken. */
  readonly unsent: number
  /** Nothing more is read until `resume`. */
  pause(): void
  resume(): void
  /** Ends it: `broken` where the client has broken a rule, `slow` where it does not read, `failed` where this server cannot go on. */
  end(how: 'broken' | 'slow' | 'failed', why: string): void
}

interface ConnectionOptions {
  readonly service: Service
  readonly wire: Wire
  readonly timers: Timers
  /** The request that an input makes, and what is known of whoever asks; or its answer: that it is none, or is not allowed. */
  readonly check: (input: unknown, number: number) => Admitted | Who | ErrorBody
  /** The facts of whoever listens, and whom to tell when it is over; throws where it may not. */
  readonly checkListen: (frame: ListenFrame) => {
    readonly actsFor?: readonly string[] | undefined
    readonly leave?: (() => void) | undefined
  }
  /** What a thrown error is answered with. */
  readonly failure: (error: unknown, number?: number) => ErrorBody
  /** How many bytes a client may leave unread. */
  readonly unreadBytes: number
  /** So many bytes more, or less, wait until the client is told where things stand. */
  readonly onWaiting?: (change: number) => void
  /** What one read tells, about. Default: that of the service. */
  readonly replyBytes?: number
  /** Does it when this client has its turn. Default: at once. */
  readonly inTurn?: (work: () => void) => void
}

/** More requests than this are not read before some of them are answered. */
const UNANSWERED_MAX = 10_000

/** Others may have their turn before it is done. */
const takesItsTime = (input: unknown) => (input as { type?: unknown } | null)?.type === 'drop-node'

const atOnce = (work: () => void) => work()

/** What a client is told that does not read. */
export const TOO_SLOW = 'more was told than was read; come back, and ask where things stand'

/**
 * One client on its stream. The requests of a frame go to the service together, and whatever has come up in a turn (answers,
 * events) goes back in one frame.
 */
export class Connection {
  readonly #options: ConnectionOptions
  readonly #inTurn: (work: () => void) => void
  readonly #inbox: Inbox
  #replies: [number: number, reply: ReplyOf<RequestType>][] = []
  #events: [listen: number, id: string, event: StreamedEvent | GatheredEvent][] = []
  #ended: [listen: number, refusal: ErrorBody][] = []
  readonly #listens: Listens
  readonly #reads = new Reads({
    answer: (read) => new Promise((resolve) => this.#inTurn(() => resolve(this.#read(read)))),
    mayGoOn: () => !this.#isClosed && !this.#isFull,
  })
  readonly #released = new Released()
  #defaults: RequestDefaults = {}
  /** Called when what was sent has been taken, or nearly all of it. */
  readonly #onTaken: (() => void)[] = []
  #lastNumber = 0
  #unanswered = 0
  #isPaused = false
  #isScheduled = false
  #isInLine = false
  #isClosed = false

  constructor(options: ConnectionOptions) {
    this.#options = options
    this.#inTurn = options.inTurn ?? atOnce
    this.#inbox = new Inbox({
      inTurn: this.#inTurn,
      take: (text, ask) => this.#take(text, ask),
      ask: (requests) => this.#ask(requests),
      // Where each is answered at once they stay in order; what takes long would be overtaken.
      mayDivide: (requests) => options.service.isDirect && !requests.some(takesItsTime),
      onWaiting: (change) => options.onWaiting?.(change),
    })
    this.#listens = new Listens({
      service: options.service,
      timers: options.timers,
      checkListen: options.checkListen,
      tell: (id, eventId, event, when) => {
        this.#events.push([id, eventId, event])
        if (when === 'soon') this.#later()
        else this.#laterInTurn()
      },
      onEnded: (id, error) => {
        this.#ended.push([id, options.failure(error)])
        this.#later()
      },
      taken: () => this.#taken(),
      onWaiting: options.onWaiting,
    })
    options.wire.send(JSON.stringify({ store: options.service.storeId } satisfies ServerFrame))
  }

  receive(text: string): void {
    if (this.#isClosed) return
    this.#inbox.add(text)
    this.#pauseOrResume()
  }

  #take(text: string, ask: (requests: NumberedRequests) => void): void {
    try {
      const { defaults, from = 0, requests, acked, keep, listen, unlisten } = frameFrom(text, this.#lastNumber)
      if (defaults) this.#defaults = defaults
      if (acked !== undefined) for (const ask of this.#released.upTo(acked)) this.#options.service.acknowledge(ask)
      if (requests) {
        this.#lastNumber = from + requests.length - 1
        ask({ from, requests, keep })
      }
      if (!this.#isClosed) for (const each of listen ?? []) this.#listens.begin(each)
      for (const id of unlisten ?? []) this.#listens.end(id)
      this.#pauseOrResume()
    } catch (error) {
      if (!(error instanceof BadFrame)) throw error
      this.#options.wire.end('broken', error.message)
      this.break()
    }
  }

  /** Tells its client to move. What it has asked, and what it asks nevertheless, is answered as before. */
  drain(): void {
    if (!this.#isClosed) this.#options.wire.send(JSON.stringify({ draining: true } satisfies ServerFrame))
  }

  /** The client has taken what it had left unread. */
  drained(): void {
    this.#pauseOrResume()
    void this.#reads.goOn()
    if (this.#options.wire.unsent <= STATE_PART_BYTES) for (const callback of this.#onTaken.splice(0)) callback()
  }

  /** Its client has broken a rule: nothing of what it has sent counts from here on. */
  break(): void {
    this.#inbox.clear()
    this.close()
  }

  /** It is over: nothing is told any more, and nobody listens. What was sent before that is still done. */
  close(): void {
    this.#isClosed = true
    this.#reads.clear()
    this.#listens.endAll()
    for (const callback of this.#onTaken.splice(0)) callback()
  }

  #ask({ from, requests: inputs, keep }: NumberedRequests): void {
    const { service, check } = this.#options
    const asked: Admitted[] = []
    const numbers: number[] = []
    const reads: NumberedRead[] = []
    for (const [index, input] of inputs.entries()) {
      const one = check(completed(input, this.#defaults), from + index)
      if (!('request' in one)) this.#reply(from + index, one)
      else if (isReading(one.request)) reads.push({ number: from + index, asked: one })
      else {
        asked.push(one)
        numbers.push(from + index)
      }
    }
    this.#unanswered += asked.length + reads.length
    service.callAll(asked, (index, reply, error) => {
      this.#unanswered--
      const number = numbers[index]!
      asked[index]!.onAnswer?.(reply, error)
      this.#reply(number, reply ?? this.#options.failure(error, number))
      if (reply?.status === 'released' && !keep?.includes(number)) this.#released.add(number, asked[index]!)
    })
    if (reads.length > 0 && !this.#isClosed) this.#reads.add(reads)
    this.#pauseOrResume()
  }

  async #read({ number, asked }: NumberedRead): Promise<void> {
    const { service, replyBytes, failure } = this.#options
    const budget = service.budget({ bytes: replyBytes, isGone: () => this.#isClosed })
    const reply = await service.call(asked.request, asked.facts, budget).catch((error) => failure(error, number))
    this.#unanswered--
    asked.onAnswer?.(reply)
    this.#reply(number, reply)
  }

  async #taken(): Promise<boolean> {
    if (!this.#isClosed) await new Promise<void>((resolve) => this.#onTaken.push(resolve))
    return !this.#isClosed
  }

  #reply(number: number, reply: ReplyOf<RequestType>): void {
    this.#replies.push([number, reply])
    this.#later()
  }

  /** At the end of this turn, with all that has come up until then. */
  #later(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    queueMicrotask(() => {
      this.#isScheduled = false
      this.#flush()
    })
  }

  #laterInTurn(): void {
    if (this.#isInLine) return
    this.#isInLine = true
    queueMicrotask(() =>
      this.#inTurn(() => {
        this.#isInLine = false
        this.#flush()
      }),
    )
  }

  #flush(): void {
    if (this.#isClosed || this.#replies.length + this.#events.length + this.#ended.length === 0) return
    const { wire, unreadBytes } = this.#options
    const frame: ServerFrame = {
      ...(this.#replies.length > 0 && { replies: this.#replies }),
      ...(this.#events.length > 0 && { events: this.#events }),
      ...(this.#ended.length > 0 && { ended: this.#ended }),
    }
    this.#replies = []
    this.#events = []
    this.#ended = []
    // A burst is no sign of a slow reader; one that has not taken what came before it is.
    if (wire.unsent > unreadBytes) wire.end('slow', TOO_SLOW)
    else wire.send(JSON.stringify(frame))
    this.#pauseOrResume()
  }

  get #isFull(): boolean {
    const { wire, unreadBytes } = this.#options
    return wire.unsent > unreadBytes / 2
  }

  /** Who does not read its answers gets no more of them; events it gets, up to a limit. */
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
