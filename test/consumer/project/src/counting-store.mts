import type {
  Address,
  AskAt,
  Command,
  Contention,
  Counts,
  EventListener,
  Facts,
  ListQuery,
  Page,
  Place,
  PlacesOfSession,
  Policy,
  ResourceView,
  SessionReply,
  SessionRequest,
  Skip,
  Standing,
  StepReply,
  Store,
  VersionedPolicy,
  WaiterPage,
} from 'baton-lock/stores'

/** A store of one's own: passes everything to another one, and counts the steps. */
export class CountingStore implements Store {
  readonly id: string
  readonly #store: Store
  steps = 0

  constructor(store: Store) {
    this.id = store.id
    this.#store = store
  }

  step<C extends Command>(address: Address, command: C, facts?: Facts): StepReply<C> | Promise<StepReply<C>> {
    this.steps++
    return this.#store.step(address, command, facts)
  }

  durable(): Promise<void> | undefined {
    return this.#store.durable()
  }

  nowMs(): number {
    return this.#store.nowMs()
  }

  read(address: Address): Promise<ResourceView | undefined> {
    return this.#store.read(address)
  }

  waiters(address: Address, page: { readonly after?: number; readonly limit: number }): Promise<WaiterPage> {
    return this.#store.waiters(address, page)
  }

  contention(address: Address, of?: PlacesOfSession): Promise<Contention> {
    return this.#store.contention(address, of)
  }

  standing(ask: AskAt): Promise<Standing> {
    return this.#store.standing(ask)
  }

  lateSkip(address: Address, operation: string): Promise<Skip | undefined> {
    return this.#store.lateSkip(address, operation)
  }

  list(query: ListQuery): Promise<Page> {
    return this.#store.list(query)
  }

  openSession(request: SessionRequest): Promise<SessionReply> {
    return this.#store.openSession(request)
  }

  renewSession(session: string): Promise<SessionReply> {
    return this.#store.renewSession(session)
  }

  closeSession(session: string): Promise<void> {
    return this.#store.closeSession(session)
  }

  places(session: string, limit?: number): Promise<readonly Place[] | undefined> {
    return this.#store.places(session, limit)
  }

  sweep(limit: number): Promise<void> {
    return this.#store.sweep(limit)
  }

  nextDeadlineMs(): number | undefined {
    return this.#store.nextDeadlineMs()
  }

  subscribe(listener: EventListener, onGap?: () => void): () => void {
    return this.#store.subscribe(listener, onGap)
  }

  hearAll(): Promise<void> {
    return this.#store.hearAll()
  }

  policy(): Promise<VersionedPolicy> {
    return this.#store.policy()
  }

  applyPolicy(policy: Policy, expectedVersion: number): Promise<VersionedPolicy & { readonly applied: boolean }> {
    return this.#store.applyPolicy(policy, expectedVersion)
  }

  counts(): Promise<Counts> {
    return this.#store.counts()
  }

  waiting(): number {
    return this.#store.waiting()
  }

  close(): Promise<void> {
    return this.#store.close()
  }
}
