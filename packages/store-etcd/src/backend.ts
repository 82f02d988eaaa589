import type { AskName, SessionLease } from '@baton-lock/core'
import {
  Attempts,
  type Backend,
  type Due,
  type EndedSession,
  type Receiver,
  type RenewedSession,
  type Transaction,
  type WrittenPolicy,
} from '@baton-lock/store/remote'
import type { Address, Clock, Counts, ListQuery, Place, QueueDepth, SessionRequest } from '@baton-lock/store/store'
import type { Timing } from '@baton-lock/store/timing'
import { Copies } from './cache/copies.ts'
import { IndexCopy } from './cache/index-copy.ts'
import { ReadAhead } from './cache/read-ahead.ts'
import type { Etcd } from './etcd.ts'
import { Conflict, judge, sure } from './failures.ts'
import type { Keys } from './keys.ts'
import { Mailbox } from './messages/mailbox.ts'
import { Attendance } from './sessions/attendance.ts'
import { Sessions } from './sessions/sessions.ts'
import type { Around } from './transaction/dependencies.ts'
import { countsIn, dueIn, find, queuesIn } from './transaction/find.ts'
import { LargeValues } from './transaction/large-values.ts'
import { readPolicy, writePolicy } from './transaction/policy.ts'
import { EtcdTransaction, type FailedCommit } from './transaction/transaction.ts'
import { Cleaning } from './upkeep/cleaning.ts'
import { Journal } from './upkeep/journal.ts'
import { StoreState } from './upkeep/store-state.ts'

interface EtcdBackendOptions {
  readonly etcd: Etcd
  readonly keys: Keys
  /** What this process counts deadlines by. */
  readonly clock: Clock
  readonly timing: Timing
  readonly storeId: string
  readonly compactMs: number | undefined
  /** Whether etcd never ends a lease before its time. */
  readonly areLeasesExact: boolean
}

/** A commit that gave way has found what is so now: it is decided again at once, so often. Then it pauses. */
const AT_ONCE = 12
const TIDY_MS = 2_000
const TOGETHER_MS = 100

/** Many processes over a quorum: whatever is changed is changed in a transaction that compares all that it relies on. */
export class EtcdBackend implements Backend {
  readonly storeId: string
  readonly process: string
  readonly concurrency = 32
  /** Of the 128 comparisons of a transaction each resource may take three: itself, a mark where it is new, and a session. */
  readonly together = { resources: 32, atOnce: 8 }
  readonly #options: EtcdBackendOptions
  readonly #attempts: Attempts
  readonly #index: IndexCopy
  readonly #mailbox: Mailbox
  readonly #attendance: Attendance
  readonly #sessions: Sessions
  readonly #around: Around
  readonly #cleaning: Cleaning
  readonly #readAhead: ReadAhead
  #isRevived = false

  constructor(options: EtcdBackendOptions) {
    const { etcd, keys, clock, timing, storeId, compactMs, areLeasesExact } = options
    this.#options = options
    this.storeId = storeId
    this.process = timing.uniqueName()
    const large = new LargeValues(etcd, keys, timing)
    const { process } = this
    let named = 0
    const uniqueName = () => `${process}-${++named}`
    this.#attempts = new Attempts({ timing, judge })
    const copies = new Copies(keys)
    this.#mailbox = new Mailbox({ etcd, keys, timing, process, large, copies })
    this.#index = new IndexCopy({
      etcd,
      keys,
      clock,
      timing,
      onLost: (sessions) => this.#lost(sessions),
      onChanged: (address, change) => this.#readAhead.changed(address, change),
    })
    this.#attendance = new Attendance({ etcd, keys, timing, process, onMissed: () => this.#mailbox.receiver?.missed() })
    this.#sessions = new Sessions({
      etcd,
      keys,
      clock,
      process,
      uniqueName,
      areLeasesExact,
      lostOf: (session) => this.#index.sessions.lostOf(session),
      onRevived: () => this.#revived(),
    })
    const journal = new Journal(etcd, keys, timing)
    const storeState = new StoreState(keys, this.#mailbox, timing)
    this.#readAhead = new ReadAhead({
      etcd,
      keys,
      timing,
      copies,
      storeState,
      isHere: (session) => this.#index.sessions.alive(session)?.value === process,
    })
    this.#around = {
      etcd,
      keys,
      clock,
      index: this.#index,
      storeState,
      copies,
      readAhead: this.#readAhead,
      large,
      journal,
      process,
      uniqueName,
      wallMs: timing.wallMs,
    }
    this.#cleaning = new Cleaning({ etcd, keys, clock, timing, index: this.#index, compactMs })
  }

  /** Makes this process known, and reads the index. */
  async start(): Promise<void> {
    await this.#attendance.enter()
    await this.#index.follow()
    this.#cleaning.start()
  }

  nowMs(): number {
    return Math.floor(this.#options.clock.nowMs())
  }

  async listen(receiver: Receiver): Promise<void> {
    this.#mailbox.receiver = receiver
    await this.#sure(() => this.#mailbox.start())
  }

  hearAll(): Promise<void> {
    return this.#sure(() => this.#attendance.hearAll())
  }

  transaction<Result>(work: (transaction: Transaction) => Promise<Result>, byMs?: number): Promise<Result> {
    return this.#sure(async (endMs) => {
      let failed: FailedCommit | undefined
      for (let tries = 1; ; tries++) {
        const transaction = new EtcdTransaction(this.#around, tries, failed)
        try {
          return await work(transaction)
        } catch (error) {
          const isLate = this.#options.timing.monoMs() > endMs
          if (!(error instanceof Conflict) || tries === AT_ONCE || isLate) throw error
          failed = transaction.failed
        }
      }
    }, byMs)
  }

  readAhead(address: Address, asks: readonly AskName[]): void {
    this.#readAhead.read(address, asks)
  }

  due(limit: number): Promise<Due> {
    return this.#sure(async () => {
      await this.#index.sync()
      const sessionDueMs: Sessions['dueMs'] = (session, lost) => this.#sessions.dueMs(session, lost)
      return dueIn(this.#index, { clock: this.#options.clock, limit, sessionDueMs })
    })
  }

  find(query: ListQuery): Promise<readonly Address[]> {
    return this.#sure(() => find(this.#options.etcd, this.#options.keys, query))
  }

  counts(): Promise<Counts> {
    return this.#sure(async () => {
      await this.#index.sync()
      return countsIn(this.#index)
    })
  }

  async queues(): Promise<readonly QueueDepth[]> {
    return queuesIn(this.#index)
  }

  clear(): Promise<void> {
    return this.#sure(() => this.#cleaning.clear())
  }

  insertSession(session: SessionRequest): Promise<boolean> {
    return this.#sure(() => this.#sessions.insert(session))
  }

  renewSession(session: string, farewell: string): Promise<RenewedSession | undefined> {
    return this.#sure(() => this.#sessions.renew(session, farewell))
  }

  leasesOf(sessions: readonly string[]): Promise<ReadonlyMap<string, SessionLease>> {
    return this.#sure(() => this.#sessions.leasesOf(sessions))
  }

  placesOf(session: string, limit?: number): Promise<readonly Place[] | undefined> {
    return this.#sure(() => this.#sessions.placesOf(session, limit))
  }

  endSession(session: string, how: 'left' | 'lost'): Promise<EndedSession | undefined> {
    return this.#sure(() => this.#sessions.end(session, how))
  }

  removeSession(session: string): Promise<void> {
    return this.#sure(() => this.#sessions.remove(session))
  }

  readPolicy(): Promise<WrittenPolicy | undefined> {
    return this.#sure(() => readPolicy(this.#options))
  }

  writePolicy(text: string, expectedVersion: number): Promise<boolean> {
    return this.#sure(() => writePolicy(this.#options, text, expectedVersion))
  }

  async close(): Promise<void> {
    this.#attempts.close()
    this.#cleaning.close()
    this.#readAhead.close()
    this.#index.close()
    const { timing, etcd } = this.#options
    const tidied = Promise.all([this.#attendance.close(), this.#mailbox.close()])
    // What is left behind where nobody answers is cleared away by others.
    await timing.within(TIDY_MS, tidied, () => new Error('no answer')).catch(() => {})
    await etcd.close()
  }

  /** Where one is, there are many: they are told of together. */
  #revived(): void {
    if (this.#isRevived) return
    this.#isRevived = true
    this.#options.timing.after(TOGETHER_MS, () => {
      this.#isRevived = false
      this.#mailbox.receiver?.missed()
    })
  }

  /** One that is here may be alive all the same. */
  #lost(sessions: readonly string[]): void {
    for (const session of sessions) void this.#sessions.revive(session).catch(() => {})
    this.#mailbox.receiver?.due()
  }

  #sure<Result>(work: (endMs: number) => Promise<Result>, byMs?: number): Promise<Result> {
    return sure(this.#attempts.run(work, byMs))
  }
}
