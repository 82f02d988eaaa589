import type { Acquire, Facts, Release, ReplyTo, ResourceView, Skip, Standing } from '../core/index.ts'
import { errorBody, LIMITS, type ReplyOf, type RequestOf, type ServiceRequest } from '../protocol/index.ts'
import type { Address, AskAt, Counts, DirectSteps, Store } from '../stores/store.ts'
import { StoreAvailability } from './availability.ts'
import { type Asked, Calls, notRead, type Tell } from './calls.ts'
import type { Sink } from './catch-up.ts'
import { isReading, isStepping } from './commands.ts'
import type { Scope } from './fan-out.ts'
import { Listening, type ListenOptions } from './listening.ts'
import { noLog } from './log.ts'
import { AskerGone, type BudgetOptions, ReadBudget } from './read-budget.ts'
import { ReadTurns } from './read-turns.ts'
import { type AnyReply, type Commanded, type Explained, Requests } from './requests.ts'
import type { ServiceOptions } from './service-options.ts'
import type { Statistics } from './statistics/statistics.ts'
import type { Gauged } from './store-gauges.ts'
import { Sweeper } from './sweeper.ts'
import { systemTimers } from './timers.ts'

/** Core and store, joined: requests in, replies out, events to those who listen, deadlines kept. */
export class Service {
  /** What was seen so far; absent where nobody counts. */
  readonly statistics: Statistics | undefined
  readonly #store: Store
  readonly #requests: Requests
  readonly #listening: Listening
  readonly #sweeper: Sweeper
  readonly #availability: StoreAvailability
  readonly #calls: Calls
  readonly #readTurns: ReadTurns
  /** Of what is not told as a reply, or goes on to its end whoever has gone. */
  readonly #unhurried: ReadBudget
  /** Tells this service from others on the same store; nothing where nobody has said so. */
  readonly instance: string

  constructor(options: ServiceOptions) {
    const { store, statistics, timers = systemTimers, waiterLimit = 1_000_000, eventLimit = 4_096 } = options
    const { instance = '', log = noLog, resultLimit = LIMITS.resultBytes, readTurns = new ReadTurns() } = options
    this.instance = instance
    this.#readTurns = readTurns
    this.#unhurried = this.budget({ bytes: Infinity })
    this.#store = store
    this.statistics = statistics
    this.#requests = new Requests(store, { ...options, waiters: waiterLimit, resultBytes: resultLimit })
    this.#availability = new StoreAvailability(log, statistics)
    this.#sweeper = new Sweeper(store, { timers, availability: this.#availability })
    this.#calls = new Calls({
      ...{ store, statistics, requests: this.#requests, availability: this.#availability },
      call: (request, facts, budget) => this.call(request, facts, budget),
      arm: () => this.#sweeper.arm(),
    })
    // An event may be another process's: then its deadlines are news here.
    const onNews = () => this.#sweeper.arm()
    this.#listening = new Listening(store, { timers, eventLimit, instance, onNews, readTurns, statistics, log })
  }

  /**
   * What the reads of one asker may cost. `bytes`: what they are told in all, about. `isGone`: whether it does not wait for its
   * answer any more; then what it has not been told yet is not read.
   */
  budget(options: BudgetOptions = {}): ReadBudget {
    return new ReadBudget(this.#readTurns, options)
  }

  /** Answers one request that has been checked, by somebody of whom `facts` are known. Throws only what the store throws. */
  async call<Type extends ServiceRequest['type']>(
    request: RequestOf<Type> & { type: Type },
    facts: Facts = {},
    budget?: ReadBudget,
  ): Promise<ReplyOf<Type>> {
    const reply = isReading(request as ServiceRequest)
      ? await this.#read(request as ServiceRequest, facts, budget ?? this.budget())
      : await this.#answer(request as ServiceRequest, facts)
    this.#sweeper.arm()
    return reply as ReplyOf<Type>
  }

  /**
   * Answers many requests that have been checked, in their order. `tell` is given each reply, or what the store has thrown, by
   * its place in the list: those that are steps of a store in this process all together, after one sync, and before this
   * returns where none is needed. What comes after one that takes long waits for it; all reads together have one budget.
   */
  callAll(asked: readonly Asked[], tell: Tell, budget: ReadBudget = this.#unhurried): void {
    this.#calls.begin({ asked, tell, budget })
  }

  /** An ask and its release that nobody repeats any more need not be remembered, where the store can forget. */
  acknowledge(ask: AskAt): void {
    this.#store.direct?.acknowledge(ask)
  }

  /**
   * A command as the classic paths give it: a release that does not know its fence, a place in line with a ttl of its
   * own. Answered like `call`, but at once where nothing is to be waited for.
   */
  command<C extends Acquire | Release>(
    address: Address,
    command: C,
    facts: Facts = {},
  ): Explained<ReplyTo<C>> | Promise<Explained<ReplyTo<C>>> {
    const { direct } = this.#store
    return direct ? this.#stepNow(direct, { address, command, facts }) : this.#stepLater({ address, command, facts })
  }

  /** A resource without its waiters; nothing where it is idle. */
  async look(address: Address): Promise<ResourceView | undefined> {
    const turn = this.#readTurns.next()
    if (turn) await turn
    return this.#availability.watch(this.#store.read(address, 0))
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

  /** Its steps are taken before `callAll` returns. */
  get isDirect(): boolean {
    return this.#store.direct !== undefined
  }

  /** What tells the store under it from others. */
  get storeId(): string {
    return this.#store.id
  }

  counts(): Promise<Counts> {
    return this.#store.counts()
  }

  /** What the store says of itself; a little old where others have asked just now. */
  gauges(): Promise<Gauged> {
    return this.#requests.gauges.read()
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

  #stepNow<C extends Acquire | Release>(
    direct: DirectSteps,
    { address, command, facts }: Commanded<C>,
  ): Explained<ReplyTo<C>> | Promise<Explained<ReplyTo<C>>> {
    let reply: Explained<ReplyTo<C>>
    let durable: Promise<void> | undefined
    try {
      reply = this.#requests.commandNow(direct, { address, command, facts })
      durable = direct.durable()
    } catch (error) {
      this.#availability.failed(error)
      throw error
    }
    this.#sweeper.arm()
    if (durable) return this.#availability.step(durable).then(() => reply)
    this.#availability.answered()
    return reply
  }

  async #stepLater<C extends Acquire | Release>(commanded: Commanded<C>): Promise<Explained<ReplyTo<C>>> {
    const reply = await this.#availability.step(this.#requests.command(commanded))
    this.#sweeper.arm()
    return reply
  }

  #answer(request: ServiceRequest, facts: Facts): Promise<AnyReply> {
    const answer = this.#requests.answer(request, facts, this.#unhurried)
    return isStepping(request) ? this.#availability.step(answer) : this.#availability.watch(answer)
  }

  async #read(request: ServiceRequest, facts: Facts, budget: ReadBudget): Promise<AnyReply> {
    if (budget.isSpent) return notRead(this.statistics)
    try {
      const turn = budget.pause()
      if (turn) await turn
      const reply = await this.#availability.watch(this.#requests.answer(request, facts, budget))
      budget.spend(reply)
      return reply
    } catch (error) {
      if (error instanceof AskerGone) return errorBody('not-read', 'Whoever asked has gone.')
      throw error
    }
  }

  async close(): Promise<void> {
    this.#listening.stop()
    this.#requests.stop()
    this.#availability.stop()
    this.#sweeper.stop()
    await this.#store.close()
  }
}
