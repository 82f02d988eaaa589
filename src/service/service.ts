import type { Acquire, Facts, Release, ReplyTo, Skip, Standing } from '../core/index.ts'
import { LIMITS, type ReplyOf, type Request, type RequestOf, type RequestType } from '../protocol/index.ts'
import type { Address, AskAt, Counts, Store } from '../stores/store.ts'
import { StoreAvailability } from './availability.ts'
import type { Sink } from './catch-up.ts'
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

  async close(): Promise<void> {
    this.#listening.stop()
    this.#availability.stop()
    this.#sweeper.stop()
    await this.#store.close()
  }
}
