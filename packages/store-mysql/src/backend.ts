import type { SessionLease } from '@baton-lock/core'
import type {
  Backend,
  Change,
  Due,
  EndedSession,
  Opened,
  Opening,
  OpenMode,
  Part,
  Receiver,
  RenewedSession,
  Transaction,
  Wanted,
  WrittenPolicy,
} from '@baton-lock/store/remote'
import {
  type Address,
  type Counts,
  type ListQuery,
  type Place,
  type QueueDepth,
  type SessionRequest,
  UnknownOutcome,
} from '@baton-lock/store/store'
import type { DatabaseClock } from './connection/clock.ts'
import type { Connections } from './connection/connections.ts'
import { unavailable } from './connection/failures.ts'
import { Packet, type Run } from './connection/packet.ts'
import { startPatiently } from './connection/start.ts'
import { Bell, Ringer } from './notifications/bell.ts'
import { Mailbox } from './notifications/mail.ts'
import { commit } from './transaction/commit.ts'
import { clearAway, readDue } from './transaction/due.ts'
import { find } from './transaction/find.ts'
import { type Around, open } from './transaction/open.ts'
import { readPart } from './transaction/parts.ts'
import { readPolicy, writePolicy } from './transaction/policy.ts'
import {
  endSession,
  type Here,
  insertSession,
  leasesOf,
  placesOf,
  removeSession,
  renewSession,
} from './transaction/sessions.ts'

/** Many processes, one database: whatever is changed is changed in a transaction that holds the resource's row. */
export class MysqlBackend implements Backend {
  readonly storeId: string
  readonly process: string
  readonly concurrency: number
  readonly #connections: Connections
  readonly #clock: DatabaseClock
  readonly #mailbox: Mailbox
  readonly #bell: Bell
  readonly #ringer: Ringer
  readonly #here: Here

  constructor(connections: Connections, clock: DatabaseClock, storeId: string) {
    this.storeId = storeId
    this.#connections = connections
    this.#clock = clock
    this.#mailbox = new Mailbox(connections, clock)
    this.#bell = new Bell(connections, this.#mailbox)
    this.#ringer = new Ringer(connections)
    this.process = this.#mailbox.process
    this.concurrency = connections.connections
    this.#here = { connections, clock, process: this.process }
  }

  nowMs(): number {
    return this.#clock.nowMs()
  }

  async listen(receiver: Receiver): Promise<void> {
    this.#mailbox.receiver = receiver
    this.#bell.start()
  }

  hearAll(): Promise<void> {
    return startPatiently(this.#connections.timing, () => this.#mailbox.hearAll())
  }

  transaction<Result>(work: (transaction: Transaction) => Promise<Result>, byMs?: number): Promise<Result> {
    const around = { clock: this.#clock, mailbox: this.#mailbox }
    const begin = (run: Run) => inTransaction(new MysqlTransaction(run, around, this.#ringer), work)
    return sure(this.#connections.transaction(begin, byMs))
  }

  due(limit: number): Promise<Due> {
    return sure(readDue(this.#connections, this.#clock, limit))
  }

  find(query: ListQuery): Promise<readonly Address[]> {
    return sure(find(this.#connections, query))
  }

  async counts(): Promise<Counts> {
    const packet = new Packet()
      .add('SELECT COUNT(*) AS resources, SUM(grants) AS grants, SUM(waiters) AS waiters FROM baton_resources')
      .add('SELECT COUNT(*) AS sessions FROM baton_sessions')
    const [[{ resources, grants, waiters }], [{ sessions }]] = await sure(this.#connections.query(packet))
    return { resources, grants: Number(grants ?? 0), waiters: Number(waiters ?? 0), sessions }
  }

  /** The longest ones, where somebody makes up very many names. */
  async queues(): Promise<readonly QueueDepth[]> {
    const statement = `SELECT namespace, operation, COUNT(*) AS waiting FROM baton_waiters
      GROUP BY namespace, operation ORDER BY waiting DESC LIMIT 1000`
    const [rows] = await sure(this.#connections.query(new Packet().add(statement)))
    return rows
  }

  clear(): Promise<void> {
    return sure(clearAway(this.#connections, this.#clock))
  }

  insertSession(session: SessionRequest): Promise<boolean> {
    return sure(insertSession(this.#here, session))
  }

  renewSession(session: string, farewell: string): Promise<RenewedSession | undefined> {
    return sure(renewSession(this.#here, session, farewell))
  }

  leasesOf(sessions: readonly string[]): Promise<ReadonlyMap<string, SessionLease>> {
    return sure(leasesOf(this.#here, sessions))
  }

  placesOf(session: string, limit?: number): Promise<readonly Place[] | undefined> {
    return sure(placesOf(this.#here, session, limit))
  }

  endSession(session: string, how: 'left' | 'lost'): Promise<EndedSession | undefined> {
    return sure(endSession(this.#here, session, how))
  }

  removeSession(session: string): Promise<void> {
    return sure(removeSession(this.#here, session))
  }

  readPolicy(): Promise<WrittenPolicy | undefined> {
    return sure(readPolicy(this.#connections))
  }

  writePolicy(text: string, expectedVersion: number): Promise<boolean> {
    return sure(writePolicy(this.#connections, text, expectedVersion))
  }

  async close(): Promise<void> {
    const tidied = Promise.all([this.#ringer.done(), this.#bell.stop().then(() => this.#mailbox.close())])
    // What is left behind where the database does not answer is cleared away by others.
    await this.#connections.within(TIDY_MS, tidied).catch(() => {})
    await this.#connections.close()
  }
}

const TIDY_MS = 2_000

class MysqlTransaction implements Transaction {
  readonly #run: Run
  readonly #around: Around
  readonly #ringer: Ringer
  isOver = false

  constructor(run: Run, around: Around, ringer: Ringer) {
    this.#run = run
    this.#around = around
    this.#ringer = ringer
  }

  open(openings: readonly Opening[], how: OpenMode): Promise<Opened> {
    return open(this.#run, openings, { how, ...this.#around })
  }

  read(address: Address, wanted: Wanted): Promise<Part> {
    return readPart(this.#run, address, wanted)
  }

  async policy(): Promise<WrittenPolicy> {
    return (await readPolicy(this.#run))!
  }

  async processesOf(sessions: readonly string[]): Promise<readonly string[]> {
    const statement = 'SELECT DISTINCT process FROM baton_sessions WHERE session IN (?)'
    const [rows] = await this.#run(new Packet().add(statement, sessions))
    return rows.map(({ process }: { process: string }) => process)
  }

  async commit(changes: readonly Change[]): Promise<void> {
    this.isOver = true
    await commit(this.#run, changes, this.#ringer)
  }

  async rollBack(): Promise<void> {
    await this.#run(new Packet().add('ROLLBACK'))
  }
}

/** What was not committed is given up. */
async function inTransaction<Result>(
  transaction: MysqlTransaction,
  work: (transaction: Transaction) => Promise<Result>,
): Promise<Result> {
  const result = await work(transaction)
  if (!transaction.isOver) await transaction.rollBack()
  return result
}

/** Whatever the database throws at us, callers get the two errors that the contract knows. */
async function sure<Result>(promise: Promise<Result>): Promise<Result> {
  try {
    return await promise
  } catch (error) {
    throw error instanceof UnknownOutcome ? error : unavailable(error)
  }
}
