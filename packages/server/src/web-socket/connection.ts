import type {
  ClientFrame,
  ErrorBody,
  GatheredEvent,
  ListenFrame,
  ReplyOf,
  RequestDefaults,
  RequestType,
  ServerFrame,
  ServiceRequest,
  StreamedEvent,
  Who,
} from '@baton-lock/protocol'
import { isReading, isStepping, type Service, type Timers } from '@baton-lock/service'
import { STATE_PART_BYTES } from '../limits.ts'
import type { Admitted } from '../v1/admission.ts'
import { BadFrame, completed, frameFrom } from './frame.ts'
import { Inbox, type NumberedRequests } from './inbox.ts'
import { Listens } from './listens.ts'
import { type NumberedRead, Reads } from './reads.ts'
import { Released } from './released.ts'

/** What carries frames: a WebSocket, or its stand-in in a test. In order, and each at most once. */
export interface Wire {
  send(text: string): void
  /** Bytes that were sent and that the client has not taken. */
  readonly unsent: number
  /** Stops reading until `resume`. */
  pause(): void
  resume(): void
  /** Ends it: `broken` if the client has broken a rule, `slow` if it does not read, `failed` if this server cannot continue. */
  end(how: 'broken' | 'slow' | 'failed', why: string): void
}

interface ConnectionOptions {
  readonly service: Service
  readonly wire: Wire
  readonly timers: Timers
  /** Validates and authorizes one request: the request with what is known of its asker, or its answer. */
  readonly admit: (input: unknown, number: number) => Admitted | Who | ErrorBody
  /** What is known of whoever listens, and what to call when it stops; throws if it may not. */
  readonly checkListen: (frame: ListenFrame) => {
    readonly actsFor?: readonly string[] | undefined
    readonly leave?: (() => void) | undefined
  }
  /** What a thrown error is answered with. */
  readonly failure: (error: unknown, number?: number) => ErrorBody
  /** How many bytes a client may leave unread. */
  readonly unreadBytes: number
  /** Called with how many bytes more, or fewer, wait for their turn. */
  readonly onWaiting?: (change: number) => void
  /** What one read may tell, about. Default: that of the service. */
  readonly replyBytes?: number
  /** Calls back when it is this client's turn. Default: at once. */
  readonly inTurn?: (work: () => void) => void
}

/** While more requests than this are unanswered, the socket is not read. */
const UNANSWERED_MAX = 10_000

/** Steps are taken in the order in which they are asked, and reads wait for them; what comes after anything else waits for that. */
const isStepOrRead = (input: unknown) => {
  const asked = input as ServiceRequest | null
  return asked !== null && (isStepping(asked) || isReading(asked))
}

const atOnce = (work: () => void) => work()

/** Why a client that does not read is cut. */
export const TOO_SLOW = 'the client reads too slowly; reconnect and ask where things stand'

/** A request that was admitted, by its number on the stream. */
interface NumberedStep {
  readonly number: number
  readonly asked: Admitted
}

/**
 * One client on its stream. Each frame takes the same path: parse; authorize and admit each request; carry them out together.
 * What comes up in a turn (replies and events) goes back in one frame.
 */
export class Connection {
  readonly #options: ConnectionOptions
  readonly #inTurn: (work: () => void) => void
  readonly #inbox: Inbox
  readonly #listens: Listens
  readonly #reads: Reads
  readonly #released = new Released()
  #replies: [number: number, reply: ReplyOf<RequestType>][] = []
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

  constructor(options: ConnectionOptions) {
    this.#options = options
    this.#inTurn = options.inTurn ?? atOnce
    this.#inbox = new Inbox((change) => options.onWaiting?.(change))
    this.#reads = new Reads({
      answer: (read) => new Promise((resolve) => this.#inTurn(() => resolve(this.#read(read)))),
      mayGoOn: () => !this.#isClosed && !this.#isFull,
    })
    this.#listens = new Listens({
      service: options.service,
      timers: options.timers,
      checkListen: options.checkListen,
      tell: (id, eventId, event, when) => {
        this.#events.push([id, eventId, event])
        if (when === 'soon') this.#flushSoon()
        else this.#flushInTurn()
      },
      onEnded: (id, error) => {
        this.#ended.push([id, options.failure(error)])
        this.#flushSoon()
      },
      taken: () => this.#taken(),
      onWaiting: options.onWaiting,
    })
    options.wire.send(JSON.stringify({ store: options.service.storeId } satisfies ServerFrame))
  }

  receive(text: string): void {
    if (this.#isClosed) return
    this.#inbox.add(text)
    this.#inTurn(this.#takeTurn)
    this.#pauseOrResume()
  }

  /** One turn: the next frame, or the next requests of a large one. */
  readonly #takeTurn = (): void => {
    try {
      const rest = this.#inbox.takeRest()
      if (rest) this.#take(rest)
      else {
        const text = this.#inbox.take()
        if (text !== undefined) this.#takeFrame(frameFrom(text, this.#lastNumber))
      }
    } catch (error) {
      if (!(error instanceof BadFrame)) throw error
      this.#options.wire.end('broken', error.message)
      this.break()
    }
    this.#pauseOrResume()
  }

  #takeFrame({ defaults, from = 0, requests, acked, keep, listen = [], unlisten = [] }: ClientFrame): void {
    if (defaults) this.#defaults = defaults
    if (acked !== undefined) for (const ask of this.#released.upTo(acked)) this.#options.service.acknowledge(ask)
    if (requests) {
      this.#lastNumber = from + requests.length - 1
      this.#take({ from, requests, keep })
    }
    if (!this.#isClosed) for (const each of listen) this.#listens.begin(each)
    for (const id of unlisten) this.#listens.end(id)
  }

  /** Admits requests and carries them out; what is more than one turn takes waits for the next. */
  #take(requests: NumberedRequests): void {
    const now = this.#inbox.divide(requests, this.#mayDivide)
    const { steps, reads } = this.#admit(now)
    this.#unanswered += steps.length + reads.length
    this.#step(steps, now.keep)
    if (reads.length > 0 && !this.#isClosed) this.#reads.add(reads)
    if (this.#inbox.hasRest) this.#inTurn(this.#takeTurn)
  }

  /** Requests that are answered at once stay in order even if others have their turn in between. */
  readonly #mayDivide = (requests: readonly unknown[]): boolean => requests.every(isStepOrRead)

  #admit({ from, requests }: NumberedRequests) {
    const { admit } = this.#options
    const steps: NumberedStep[] = []
    const reads: NumberedRead[] = []
    let number = from
    for (const input of requests) {
      const admitted = admit(completed(input, this.#defaults), number)
      if (!('request' in admitted)) this.#reply(number, admitted)
      else if (isReading(admitted.request)) reads.push({ number, asked: admitted })
      else steps.push({ number, asked: admitted })
      number++
    }
    return { steps, reads }
  }

  #step(steps: readonly NumberedStep[], keep: readonly number[] | undefined): void {
    if (steps.length === 0) return
    const { service, failure } = this.#options
    const asked = steps.map((step) => step.asked)
    service.callAll(asked, (index, reply, error) => {
      const { number, asked } = steps[index]!
      this.#unanswered--
      asked.onAnswer?.(reply, error)
      this.#reply(number, reply ?? failure(error, number))
      if (reply?.status === 'released' && !keep?.includes(number)) this.#released.add(number, asked)
    })
  }

  async #read({ number, asked }: NumberedRead): Promise<void> {
    const { service, replyBytes, failure } = this.#options
    const budget = service.budget({ bytes: replyBytes, isGone: () => this.#isClosed })
    const reply = await service.call(asked.request, asked.facts, budget).catch((error) => failure(error, number))
    this.#unanswered--
    asked.onAnswer?.(reply)
    this.#reply(number, reply)
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

  #reply(number: number, reply: ReplyOf<RequestType>): void {
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
    // A burst does not make a reader slow; not having taken what came before it does.
    if (wire.unsent > unreadBytes) wire.end('slow', TOO_SLOW)
    else wire.send(JSON.stringify(frame))
    this.#pauseOrResume()
  }

  get #isFull(): boolean {
    const { wire, unreadBytes } = this.#options
    return wire.unsent > unreadBytes / 2
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
