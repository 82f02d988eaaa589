import type { Acquire, Facts, Release, ReplyTo, ResourceView, Skip, Standing } from '@baton-lock/core'
import { LIMITS, type Quotas, type ReplyOf, type RequestOf, type ServiceRequest } from '@baton-lock/protocol'
import type { Address, AskAt, Counts, Store } from '@baton-lock/store/store'
import { StoreAvailability } from './availability.ts'
import type { Sink } from './listening/catch-up.ts'
import type { Scope } from './listening/fan-out.ts'
import { Listening, type ListenOptions } from './listening/listening.ts'
import { type Log, noLog } from './log.ts'
import { type Asked, commandOf, isReading, isStepping } from './requests/commands.ts'
import { Requests } from './requests/other-requests.ts'
import { NodeQuotas } from './requests/quotas.ts'
import { type BudgetOptions, ReadBudget, ReadTurns } from './requests/reads.ts'
import { type Explained, type Step, Steps, type Tell } from './requests/steps.ts'
import type { Statistics } from './statistics/statistics.ts'
import { type Gauged, StoreGauges } from './statistics/store-gauges.ts'
import { Sweeper } from './timers/sweeper.ts'
import { systemTimers, type Timers } from './timers/timers.ts'

/** The parts and limits of a service. Only the store is required. */
interface ServiceOptions {
  readonly store: Store
  /** Limits per node and per token. Default: `QUOTAS`. */
  readonly quotas?: Quotas | undefined
  /** Counts events and answers. Default: nothing is counted. */
  readonly statistics?: Statistics | undefined
  /** The version of Baton. */
  readonly version?: string | undefined
  readonly timers?: Timers
  /** The maximum number of waiters of all resources together. */
  readonly waiterLimit?: number
  /** The largest result that is passed on to others, in bytes of JSON. Default: 16 KiB. */
  readonly resultLimit?: number | undefined
  /** How many events are kept for listeners that reconnect. */
  readonly eventLimit?: number
  /** Makes the event ids of this service differ from those of other services on the same store. */
  readonly instance?: string
  /** Schedules reads between other work. Default: by the event loop of this process. */
  readonly readTurns?: ReadTurns
  /** Logs when the store fails, and when it answers again. Default: no log. */
  readonly log?: Log
}

/** Joins the core and a store: takes requests, returns replies, delivers events, and applies deadlines. */
export class Service {
  /** `undefined` if nothing is counted. */
  readonly statistics: Statistics | undefined
  readonly #store: Store
  readonly #steps: Steps
  readonly #requests: Requests
  readonly #quotas: NodeQuotas
  readonly #gauges: StoreGauges
  readonly #listening: Listening
  readonly #sweeper: Sweeper
  readonly #availability: StoreAvailability
  readonly #readTurns: ReadTurns
  /** The budget of work that runs to its end even if the client has gone. */
  readonly #unhurried: ReadBudget
  /** Tells this service from others on the same store. Empty by default. */
  readonly instance: string

  constructor(options: ServiceOptions) {
    const { store, statistics, timers = systemTimers, waiterLimit = 1_000_000, eventLimit = 4_096 } = options
    const { instance = '', version = '', log = noLog, readTurns = new ReadTurns() } = options
    const { resultLimit = LIMITS.resultBytes } = options
    this.instance = instance
    this.statistics = statistics
    this.#store = store
    this.#readTurns = readTurns
    this.#unhurried = this.budget({ bytes: Infinity })
    this.#quotas = new NodeQuotas(store, options.quotas)
    this.#gauges = new StoreGauges(store, statistics)
    // For the waiters that were there before this process started, and for the names in the policy.
    if (statistics) this.#gauges.read().catch(() => {})
    const availability = new StoreAvailability(log)
    const sweeper = new Sweeper(store, { timers, availability })
    const arm = () => sweeper.arm()
    const common = { quotas: this.#quotas, availability, statistics, arm }
    this.#availability = availability
    this.#sweeper = sweeper
    const steps = new Steps(store, { ...common, waiterLimit, resultLimit })
    this.#steps = steps
    this.#requests = new Requests(store, {
      ...common,
      steps,
      gauges: this.#gauges,
      version,
      unhurried: this.#unhurried,
    })
    const parts = { steps, timers, readTurns, statistics, log }
    // An event may come from another process, with deadlines that this one does not know yet.
    this.#listening = new Listening(store, { ...parts, eventLimit, instance, onNews: arm })
  }

  /**
   * Limits the reads of one client: `bytes` for all replies together, approximately. Once `isGone` returns true, the
   * remaining reads are not made.
   */
  budget(options: BudgetOptions = {}): ReadBudget {
    return new ReadBudget(this.#readTurns, options)
  }

  /** Answers one checked request; `facts` is what is known of its sender. Throws only what the store throws. */
  call<Type extends ServiceRequest['type']>(
    request: RequestOf<Type> & { type: Type },
    facts: Facts = {},
    budget?: ReadBudget,
  ): Promise<ReplyOf<Type>> {
    const asked = { request: request as ServiceRequest, facts }
    return new Promise((resolve, reject) => {
      const tell: Tell = (_, reply, error) => (reply ? resolve(reply as ReplyOf<Type>) : reject(error))
      void this.callAll([asked], tell, budget ?? (isReading(asked.request) ? this.budget() : undefined))
    })
  }

  /**
   * Answers checked requests in their order. `tell` gets each reply, or the error of the store, by its index in the
   * list. Consecutive steps are taken together: on a store in this process they share one wait for durability, and if there is
   * nothing to wait for, `tell` is called before this returns. Any other request waits until those before it are answered,
   * and those after it wait for its answer. All reads share one budget.
   */
  async callAll(asked: readonly Asked[], tell: Tell, budget: ReadBudget = this.#unhurried): Promise<void> {
    let together: Step[] = []
    for (const [index, { request, facts }] of asked.entries()) {
      if (isStepping(request)) {
        together.push({ index, type: request.type, address: request, command: commandOf(request), facts })
        continue
      }
      if (together.length > 0) await this.#steps.take(together, tell)
      together = []
      await this.#requests.answer(request, facts, budget).then(
        (reply) => tell(index, reply),
        (error) => tell(index, undefined, error),
      )
    }
    if (together.length > 0) await this.#steps.take(together, tell)
  }

  /** Tells the store that this request and its release will not be repeated, so that it may forget them. */
  acknowledge(ask: AskAt): void {
    this.#store.acknowledge?.(ask)
  }

  /** Runs a command of the classic paths: a release without a fence, a place in line with its own ttl. */
  command<C extends Acquire | Release>(
    address: Address,
    command: C,
    facts: Facts = {},
  ): Promise<Explained<ReplyTo<C>>> {
    return this.#steps.takeOne({ type: command.type, address, command, facts }) as Promise<Explained<ReplyTo<C>>>
  }

  /** A resource without its waiters; `undefined` if it is idle. */
  async look(address: Address): Promise<ResourceView | undefined> {
    const turn = this.#readTurns.next()
    if (turn) await turn
    return this.#availability.watch(this.#store.read(address, 0))
  }

  /** The present state of a request. */
  standing(ask: AskAt): Promise<Standing> {
    return this.#store.standing(ask)
  }

  /** The answer to a former waiter without a revision that asks too late; `undefined` if it has to ask again. */
  lateSkip(address: Address, operation: string): Promise<Skip | undefined> {
    return this.#store.lateSkip(address, operation)
  }

  /**
   * A client with the shared hold id has received its final answer, which has this fence: the answer is not given
   * again.
   */
  heard(ask: AskAt & { readonly fence: number }, facts: Facts = {}): Promise<void> {
    return this.#listening.heard(ask, facts)
  }

  /**
   * Listens from now on. The sink first gets the present state or, if `lastId` is still known, exactly the events
   * that it missed. No event is lost in between.
   */
  listen(scope: Scope, sink: Sink, options: ListenOptions = {}): Promise<() => void> {
    return this.#listening.listen(scope, sink, options)
  }

  /** Tells the store from other stores. */
  get storeId(): string {
    return this.#store.id
  }

  counts(): Promise<Counts> {
    return this.#store.counts()
  }

  /** Numbers from the store, at most two seconds old. */
  gauges(): Promise<Gauged> {
    return this.#gauges.read()
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
    this.#quotas.stop()
    this.#availability.stop()
    this.#sweeper.stop()
    await this.#store.close()
  }
}
