import type {
  Command,
  Contention,
  Facts,
  PlacesOfSession,
  Policy,
  ResourceView,
  Skip,
  Standing,
  WaiterPage,
} from '@baton-lock/core'
import {
  type Address,
  type AskAt,
  type Counts,
  durableStep,
  type EventListener,
  type ListQuery,
  type Pace,
  type Page,
  type Place,
  type SessionReply,
  type SessionRequest,
  type StepReply,
  type Store,
  StoreUnavailable,
  UnknownOutcome,
  type VersionedPolicy,
} from '@baton-lock/store/store'

/** What goes wrong on the way to the store and back, decided anew for each call. */
interface StoreFaults {
  /** How long a call is under way, there and back. */
  delayMs(): number
  /** `before`: the call never arrives. `after`: it is carried out, but nobody hears. */
  fault(): 'before' | 'after' | undefined
  wait(delayMs: number): Promise<void>
  /** Carries an event to this process; in order, perhaps late. */
  carry(deliver: () => void): void
}

/** One process's way to a store that it shares with others: calls take time and fail, events come late. */
export class FaultyStore implements Store {
  readonly id: string
  readonly #store: Store
  readonly #faults: StoreFaults
  readonly #stops = new Set<() => void>()

  constructor(store: Store, faults: StoreFaults) {
    this.id = store.id
    this.#store = store
    this.#faults = faults
  }

  nowMs(): number {
    return this.#store.nowMs()
  }

  step<C extends Command>(address: Address, command: C, facts?: Facts): Promise<StepReply<C>> {
    return this.#reach(() => durableStep(this.#store, address, command, facts))
  }

  /** Every step resolves when it is durable. */
  durable(): undefined {}

  read(address: Address, waiterLimit?: number): Promise<ResourceView | undefined> {
    return this.#reach(() => this.#store.read(address, waiterLimit))
  }

  waiters(address: Address, page: { readonly after?: number; readonly limit: number }): Promise<WaiterPage> {
    return this.#reach(() => this.#store.waiters(address, page))
  }

  standing(ask: AskAt): Promise<Standing> {
    return this.#reach(() => this.#store.standing(ask))
  }

  lateSkip(address: Address, operation: string): Promise<Skip | undefined> {
    return this.#reach(() => this.#store.lateSkip(address, operation))
  }

  list(query: ListQuery, pace?: Pace): Promise<Page> {
    return this.#reach(() => this.#store.list(query, pace))
  }

  openSession(request: SessionRequest): Promise<SessionReply> {
    return this.#reach(() => this.#store.openSession(request))
  }

  renewSession(session: string): Promise<SessionReply> {
    return this.#reach(() => this.#store.renewSession(session))
  }

  closeSession(session: string): Promise<void> {
    return this.#reach(() => this.#store.closeSession(session))
  }

  contention(address: Address, of?: PlacesOfSession): Promise<Contention> {
    return this.#reach(() => this.#store.contention(address, of))
  }

  places(session: string, limit?: number): Promise<readonly Place[] | undefined> {
    return this.#reach(() => this.#store.places(session, limit))
  }

  sweep(limit: number): Promise<void> {
    return this.#reach(() => this.#store.sweep(limit))
  }

  nextDeadlineMs(): number | undefined {
    return this.#store.nextDeadlineMs()
  }

  subscribe(listener: EventListener, onGap: () => void = () => {}, onDue: () => void = () => {}): () => void {
    const stop = this.#store.subscribe(
      (event, elsewhere) => this.#faults.carry(() => listener(event, elsewhere)),
      () => this.#faults.carry(onGap),
      () => this.#faults.carry(onDue),
    )
    this.#stops.add(stop)
    return stop
  }

  policy(): Promise<VersionedPolicy> {
    return this.#reach(() => this.#store.policy())
  }

  applyPolicy(policy: Policy, expectedVersion: number): Promise<VersionedPolicy & { readonly applied: boolean }> {
    return this.#reach(() => this.#store.applyPolicy(policy, expectedVersion))
  }

  hearAll(): Promise<void> {
    return this.#reach(() => this.#store.hearAll())
  }

  counts(): Promise<Counts> {
    return this.#store.counts()
  }

  waiting(): number {
    return this.#store.waiting()
  }

  /** Closes this process's way to the store, not the store. */
  async close(): Promise<void> {
    for (const stop of this.#stops) stop()
  }

  async #reach<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    const faults = this.#faults
    const wrong = faults.fault()
    const there = faults.delayMs()
    if (there > 0) await faults.wait(there)
    if (wrong === 'before') throw new StoreUnavailable('the store was out of reach')
    const answer = await call()
    const back = faults.delayMs()
    if (back > 0) await faults.wait(back)
    if (wrong === 'after') throw new UnknownOutcome('the store did not answer')
    return answer
  }
}
