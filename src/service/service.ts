import type { Acquire, Facts, Release, ReplyTo, Skip, Standing } from '../core/index.ts'
import { LIMITS, type ReplyOf, type Request, type RequestOf, type RequestType } from '../protocol/index.ts'
import type { Address, AskAt, Counts, DirectSteps, Store } from '../stores/store.ts'
import { StoreAvailability } from './availability.ts'
import type { Sink } from './catch-up.ts'
import { isStepping } from './commands.ts'
import type { Scope } from './fan-out.ts'
import { Listening, type ListenOptions } from './listening.ts'
import { type Log, noLog } from './log.ts'
import { type Explained, Requests } from './requests.ts'
import { Sweeper } from './sweeper.ts'
import { systemTimers, type Timers } from './timers.ts'

/** What a service is made of; all but the store has a default. */
export interface ServiceOptions {
  readonly store: Store
  readonly timers?: Timers
  /** How many may wait in all. */
  readonly waiterLimit?: number
  /** The largest result that is told to others, in bytes of JSON. Default: 16 KiB. */
  readonly resultLimit?: number | undefined
  /** How many events are remembered for listeners that come back. */
  readonly eventLimit?: number
  /** Tells the event ids of this service from those of others on the same store. */
  readonly instance?: string
  /** Told when the store goes, and when it is back. Default: says nothing. */
  readonly log?: Log
}

/** A request that has been checked, and what is known of whoever asks. */
export interface Asked {
  readonly request: Request
  readonly facts: Facts
}

/** Given the reply to the request at this place of the list, or what was thrown in its place. */
type Tell = (index: number, reply: ReplyOf<RequestType> | undefined, error?: unknown) => void

/** Core and store, joined: requests in, replies out, events to those who listen, deadlines kept. */
export class Service {
  readonly #store: Store
  readonly #requests: Requests
  readonly #listening: Listening
  readonly #sweeper: Sweeper
  readonly #availability: StoreAvailability

  constructor(options: ServiceOptions) {
    const { store, timers = systemTimers, waiterLimit = 1_000_000, eventLimit = 4_096 } = options
    const { instance = '', log = noLog, resultLimit = LIMITS.resultBytes } = options
    this.#store = store
    this.#requests = new Requests(store, { waiters: waiterLimit, resultBytes: resultLimit })
    this.#availability = new StoreAvailability(log)
    this.#sweeper = new Sweeper(store, { timers, availability: this.#availability })
    // An event may be another process's: then its deadlines are news here.
    const onNews = () => this.#sweeper.arm()
    this.#listening = new Listening(store, { timers, eventLimit, instance, onNews })
  }

  /** Answers one request that has been checked, by somebody of whom `facts` are known. Throws only what the store throws. */
  async call<Type extends RequestType>(
    request: RequestOf<Type> & { type: Type },
    facts: Facts = {},
  ): Promise<ReplyOf<Type>> {
    const reply = await this.#availability.watch(this.#requests.answer(request as Request, facts))
    this.#sweeper.arm()
    return reply as ReplyOf<Type>
  }

  /**
   * Answers many requests that have been checked, in their order. `tell` is given each reply, or what the store has thrown, by
   * its place in the list: those that are steps of a store in this process all together, after one sync, and before this
   * returns where none is needed.
   */
  callAll(asked: readonly Asked[], tell: Tell): void {
    const { direct } = this.#store
    if (direct) this.#stepAll(direct, asked, tell)
    else void this.#callInTurn(asked, tell)
    this.#sweeper.arm()
  }

  /** An ask and its release that nobody repeats any more need not be remembered, where the store can forget. */
  acknowledge(ask: AskAt): void {
    this.#store.direct?.acknowledge(ask)
  }

  /**
   * A command as the classic paths give it: a release that does not know its fence, a place in line with a ttl of its
   * own. Answered like `call`.
   */
  async command<C extends Acquire | Release>(command: C & Address, facts: Facts = {}): Promise<Explained<ReplyTo<C>>> {
    const reply = await this.#availability.watch(this.#requests.answerCommand(command, facts))
    this.#sweeper.arm()
    return reply as Explained<ReplyTo<C>>
  }

  /** Where an ask stands now. */
  standing(ask: AskAt): Promise<Standing> {
    return this.#store.standing(ask)
  }

  /** What one who waited without a revision is told when it comes late; nothing where it has to ask. */
  lateSkip(address: Address, operation: string): Promise<Skip | undefined> {
    return this.#store.lateSkip(address, operation)
  }

  /** An asker with the shared hold id has been told its final answer, with this fence: it is not given again. */
  heard(ask: AskAt & { readonly fence: number }, facts: Facts = {}): Promise<void> {
    return this.#listening.heard(ask, facts)
  }

  /**
   * Listens from now on. The sink is first told the present state or, where `lastId` is still known, exactly what it
   * has missed; nothing falls in between.
   */
  listen(scope: Scope, sink: Sink, options: ListenOptions = {}): Promise<() => void> {
    return this.#listening.listen(scope, sink, options)
  }

  /** What tells the store under it from others. */
  get storeId(): string {
    return this.#store.id
  }

  counts(): Promise<Counts> {
    return this.#store.counts()
  }

  nowMs(): number {
    return this.#store.nowMs()
  }

  /** Whether the store answers. */
  async isReady(): Promise<boolean> {
    return this.#store.policy().then(
      () => true,
      () => false,
    )
  }

  #stepAll(direct: DirectSteps, asked: readonly Asked[], tell: Tell): void {
    const replies: (ReplyOf<RequestType> | undefined)[] = []
    let durable: Promise<void> | undefined
    try {
      for (const [index, { request, facts }] of asked.entries()) {
        replies.push(isStepping(request) ? this.#requests.answerNow(direct, request, facts) : undefined)
        if (replies[index] === undefined) this.#callOne(asked[index]!, index, tell)
      }
      durable = direct.durable()
    } catch (error) {
      // The store has gone away: of what was done before that in this turn, nobody is told that it counts.
      this.#availability.failed(error)
      for (const [index, { request }] of asked.entries()) if (isStepping(request)) tell(index, undefined, error)
      return
    }
    const tellAll = (error?: unknown) => {
      if (error === undefined) this.#availability.answered()
      else this.#availability.failed(error)
      for (const [index, reply] of replies.entries())
        if (reply) tell(index, error === undefined ? reply : undefined, error)
    }
    if (durable) durable.then(() => tellAll(), tellAll)
    else tellAll()
  }

  /** Steps of several resources go together; whatever else there is comes after those before it. */
  async #callInTurn(asked: readonly Asked[], tell: Tell): Promise<void> {
    const under: Promise<void>[] = []
    for (const [index, one] of asked.entries()) {
      if (!isStepping(one.request)) await Promise.all(under.splice(0))
      const called = this.#callOne(one, index, tell)
      if (isStepping(one.request)) under.push(called)
      else await called
    }
  }

  async #callOne({ request, facts }: Asked, index: number, tell: Tell): Promise<void> {
    let reply: ReplyOf<RequestType> | undefined
    let failure: unknown
    try {
      reply = await this.call(request, facts)
    } catch (error) {
      failure = error
    }
    tell(index, reply, failure)
  }

  async close(): Promise<void> {
    this.#listening.stop()
    this.#availability.stop()
    this.#sweeper.stop()
    await this.#store.close()
  }
}
