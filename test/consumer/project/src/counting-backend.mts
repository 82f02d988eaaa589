import type {
  Address,
  AskName,
  Backend,
  Counts,
  Due,
  EndedSession,
  ListQuery,
  Place,
  QueueDepth,
  Receiver,
  RenewedSession,
  SessionLease,
  SessionRequest,
  Transaction,
  WrittenPolicy,
} from 'baton-lock/stores'

/** A backend of one's own for the remote engine: passes everything to another one, and counts the transactions. */
export class CountingBackend implements Backend {
  readonly #backend: Backend
  transactions = 0

  constructor(backend: Backend) {
    this.#backend = backend
  }

  get storeId(): string {
    return this.#backend.storeId
  }

  get process(): string {
    return this.#backend.process
  }

  get concurrency(): number {
    return this.#backend.concurrency
  }

  nowMs(): number {
    return this.#backend.nowMs()
  }

  listen(receiver: Receiver): Promise<void> {
    return this.#backend.listen(receiver)
  }

  hearAll(): Promise<void> {
    return this.#backend.hearAll()
  }

  transaction<Result>(work: (transaction: Transaction) => Promise<Result>, byMs?: number): Promise<Result> {
    this.transactions++
    return this.#backend.transaction(work, byMs)
  }

  readAhead(address: Address, asks: readonly AskName[]): void {
    this.#backend.readAhead?.(address, asks)
  }

  due(limit: number): Promise<Due> {
    return this.#backend.due(limit)
  }

  find(query: ListQuery): Promise<readonly Address[]> {
    return this.#backend.find(query)
  }

  counts(): Promise<Counts> {
    return this.#backend.counts()
  }

  queues(): Promise<readonly QueueDepth[]> {
    return this.#backend.queues()
  }

  clear(): Promise<void> {
    return this.#backend.clear()
  }

  insertSession(session: SessionRequest): Promise<boolean> {
    return this.#backend.insertSession(session)
  }

  renewSession(session: string, farewell: string): Promise<RenewedSession | undefined> {
    return this.#backend.renewSession(session, farewell)
  }

  leasesOf(sessions: readonly string[]): Promise<ReadonlyMap<string, SessionLease>> {
    return this.#backend.leasesOf(sessions)
  }

  placesOf(session: string): Promise<readonly Place[] | undefined> {
    return this.#backend.placesOf(session)
  }

  endSession(session: string, how: 'left' | 'lost'): Promise<EndedSession | undefined> {
    return this.#backend.endSession(session, how)
  }

  removeSession(session: string): Promise<void> {
    return this.#backend.removeSession(session)
  }

  readPolicy(): Promise<WrittenPolicy | undefined> {
    return this.#backend.readPolicy()
  }

  writePolicy(text: string, expectedVersion: number): Promise<boolean> {
    return this.#backend.writePolicy(text, expectedVersion)
  }

  close(): Promise<void> {
    return this.#backend.close()
  }
}
