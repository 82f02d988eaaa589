import {
  askName,
  type Command,
  type Facts,
  lateSkip,
  type Policy,
  type Refused,
  type ReplyTo,
  type ResourceView,
  type Skip,
  type Standing,
  standingOf,
  viewOf,
  type WaiterPage,
  waitersOf,
} from '../../core/index.ts'
import { addressOf, nameOf } from '../shards.ts'
import {
  type Address,
  type AskAt,
  type Clock,
  type Counts,
  type ListQuery,
  type Page,
  type Place,
  type SessionReply,
  type SessionRequest,
  type Store,
  type StoreEvent,
  UnknownOutcome,
  type VersionedPolicy,
} from '../store.ts'
import { Bell, Ringer } from './bell.ts'
import { DatabaseClock } from './clock.ts'
import { Connections, within } from './connections.ts'
import { Dispatch } from './dispatch.ts'
import { unavailable } from './failures.ts'
import { Lanes } from './lanes.ts'
import { listOf } from './listing.ts'
import type { Job, Taking } from './lock.ts'
import { eventsOf, type Letter, Mailbox } from './mailbox.ts'
import { bringUpToDate } from './migrate.ts'
import { targetOf } from './mysql-url.ts'
import { ask, Packet } from './packet.ts'
import type { TakenStep } from './save.ts'
import { refuseUnfit, refuseWithoutRights } from './server.ts'
import { Sessions } from './sessions.ts'
import { type Look, Steps } from './steps.ts'
import { StoredPolicy } from './stored-policy.ts'
import { clearAway, readDue } from './sweep.ts'

export interface MysqlStoreOptions {
  readonly url: string
  /** The first process writes it down; every later one must be configured alike. Absent: whatever is stored counts. */
  readonly policy?: Policy
  /** For tests: instead of the database's clock. */
  readonly clock?: Clock
  /** For tests: every step is written to `baton_history` too, in its own transaction. */
  readonly recordHistory?: boolean
}

/** Every process looks at least as often for deadlines that it has not heard of. */
const LOOK_MS = 10_000
/** And not more often because somebody stands in line. */
const LOOK_AGAIN_MS = 500
const CLEAR_MS = 10_000
const TIDY_MS = 2_000
/** Processes that wake for the same deadline come one after the other: the first has done it when the next one looks. */
const JITTER_MS = 100

export async function openMysqlStore(options: MysqlStoreOptions): Promise<Store> {
  const connections = new Connections(targetOf(options.url))
  try {
    await connections.alone(async (connection) => {
      await refuseUnfit(connection)
      await bringUpToDate(connection)
      await refuseWithoutRights(connection)
      if (options.recordHistory) await ask(connection, HISTORY)
    })
    const store = new MysqlStore(connections, options)
    await store.start(options.policy)
    return store
  } catch (error) {
    await connections.close()
    throw error instanceof TypeError ? error : unavailable(error)
  }
}

const HISTORY = `CREATE TABLE IF NOT EXISTS baton_history (
  step BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  namespace VARBINARY(512) NOT NULL, resource VARBINARY(512) NOT NULL, body LONGBLOB NOT NULL) ENGINE=InnoDB`

/** Many processes, one database: whatever is decided is decided in a transaction that holds the resource's row. */
class MysqlStore implements Store {
  readonly #connections: Connections
  readonly #clock: DatabaseClock
  readonly #policy = new StoredPolicy()
  readonly #mailbox: Mailbox
  readonly #bell: Bell
  readonly #ringer: Ringer
  readonly #steps: Steps
  readonly #dispatch: Dispatch
  readonly #sessions: Sessions
  readonly #lanes: Lanes<Taking, TakenStep>
  readonly #listeners = new Set<Listener>()
  #seq = 0
  #nextMs: number | undefined
  #lookedAtMs: number
  #clearedAtMs = performance.now()
  #hasLitter = false
  #waiting = 0

  constructor(connections: Connections, { clock, recordHistory = false }: MysqlStoreOptions) {
    this.#connections = connections
    this.#clock = new DatabaseClock(clock)
    this.#lookedAtMs = this.#clock.nowMs()
    const deliver = (letter: Letter) => this.#tell(letter)
    const missed = () => {
      for (const { onGap } of this.#listeners) onGap?.()
    }
    this.#mailbox = new Mailbox(connections, this.#clock, { deliver, missed })
    this.#bell = new Bell(connections, this.#mailbox)
    this.#ringer = new Ringer(connections)
    const neighbours = { clock: this.#clock, policy: this.#policy, mailbox: this.#mailbox }
    this.#steps = new Steps(connections, neighbours, { recordHistory })
    this.#dispatch = new Dispatch(this.#steps, connections)
    this.#lanes = new Lanes((name, takings, endMs) => this.#take({ address: addressOf(name), takings, endMs }))
    const step = (place: Place, command: Command) => this.#lanes.go(nameOf(place), { command })
    this.#sessions = new Sessions(connections, { clock: this.#clock, mailbox: this.#mailbox, step })
  }

  async start(policy: Policy | undefined): Promise<void> {
    await this.#policy.settle(this.#connections, policy)
    await this.#look(0)
    this.#bell.start()
  }

  nowMs(): number {
    return this.#clock.nowMs()
  }

  async step<C extends Command>(address: Address, command: C, facts?: Facts): Promise<ReplyTo<C> | Refused> {
    const { reply } = await sure(this.#lanes.go(nameOf(address), { command, facts }))
    return reply as ReplyTo<C> | Refused
  }

  async read(address: Address): Promise<ResourceView | undefined> {
    return this.#view(address, { view: (resource) => viewOf(resource) })
  }

  async waiters(address: Address, page: { readonly after?: number; readonly limit: number }): Promise<WaiterPage> {
    return (await this.#view(address, { view: (resource) => waitersOf(resource, page) })) ?? { waiters: [] }
  }

  async standing(ask: AskAt): Promise<Standing> {
    const view: Look<Standing>['view'] = (resource, context) => standingOf(resource, context, ask)
    return (await this.#view(ask, { names: [askName(ask)], view })) ?? { status: 'nothing' }
  }

  async lateSkip(address: Address, operation: string): Promise<Skip | undefined> {
    return this.#view(address, { view: (resource, context) => lateSkip(resource, context, operation) })
  }

  async list(query: ListQuery): Promise<Page> {
    return sure(listOf(this.#connections, (address, view) => this.#view(address, { view }), query))
  }

  async openSession(request: SessionRequest): Promise<SessionReply> {
    const reply = await sure(this.#sessions.open(request))
    if (reply.status === 'alive') this.#lowerNext(this.#clock.nowMs() + reply.ttlMs)
    return reply
  }

  async renewSession(session: string): Promise<SessionReply> {
    return sure(this.#sessions.renew(session))
  }

  async closeSession(session: string): Promise<void> {
    await sure(this.#sessions.end(session, 'left'))
  }

  async places(session: string): Promise<readonly Place[] | undefined> {
    return sure(this.#sessions.places(session))
  }

  async sweep(limit: number): Promise<void> {
    if (this.#clock.isReal) await new Promise((resolve) => setTimeout(resolve, Math.random() * JITTER_MS))
    await sure(this.#sweep(limit))
  }

  nextDeadlineMs(): number | undefined {
    if (!this.#clock.isReal) return this.#nextMs
    return Math.min(this.#nextMs ?? Infinity, this.#lookedAtMs + LOOK_MS)
  }

  subscribe(listener: (event: StoreEvent) => void, onGap?: () => void): () => void {
    const entry = { listener, onGap }
    this.#listeners.add(entry)
    return () => this.#listeners.delete(entry)
  }

  hearAll(): Promise<void> {
    return sure(this.#mailbox.hearAll())
  }

  async policy(): Promise<VersionedPolicy> {
    return (await sure(this.#policy.read(this.#connections)))!
  }

  async applyPolicy(policy: Policy, expectedVersion: number): Promise<VersionedPolicy & { readonly applied: boolean }> {
    return sure(this.#policy.apply(this.#connections, policy, expectedVersion))
  }

  waiting(): number {
    return this.#waiting
  }

  async counts(): Promise<Counts> {
    const packet = new Packet()
      .add('SELECT COUNT(*) AS resources, SUM(grants) AS grants, SUM(waiters) AS waiters FROM baton_resources')
      .add('SELECT COUNT(*) AS sessions FROM baton_sessions')
    const [[{ resources, grants, waiters }], [{ sessions }]] = await sure(this.#connections.query(packet))
    return { resources, grants: Number(grants ?? 0), waiters: Number(waiters ?? 0), sessions }
  }

  async close(): Promise<void> {
    this.#listeners.clear()
    // What is left behind where the database does not answer is swept away by others.
    await within(TIDY_MS, this.#tidy()).catch(() => {})
    await this.#connections.close()
  }

  async #tidy(): Promise<void> {
    await this.#bell.stop()
    await this.#clear(0)
    await this.#mailbox.close()
  }

  async #take(job: Job): Promise<readonly TakenStep[]> {
    const { steps, letter, ring, waiting } = await this.#dispatch.run(job)
    // Only what ends leaves something behind.
    this.#hasLitter ||= letter.events.some(({ type }) => type === 'ended' || type === 'told')
    this.#waiting = Math.max(0, this.#waiting + waiting)
    // Whoever is in the way may have a deadline that was not known here when this process looked last.
    if (this.#clock.isReal && letter.events.some(({ type }) => type === 'queued'))
      this.#lowerNext(this.#lookedAtMs + LOOK_AGAIN_MS)
    // Others are waiting for it.
    this.#ringer.ring(ring)
    this.#tell(letter)
    return steps
  }

  #tell(letter: Letter): void {
    this.#lowerNext(letter.dueAtMs)
    for (const event of eventsOf(letter, () => ++this.#seq)) for (const { listener } of this.#listeners) listener(event)
  }

  /** Looks without changing anything; where something is due, it is done first. */
  async #view<Result>(address: Address, options: Look<Result>): Promise<Result | undefined> {
    for (;;) {
      const { result, isDue } = await sure(this.#steps.look(address, options))
      if (!isDue) return result
      await sure(this.#lanes.go(nameOf(address), { command: { type: 'expire' } }))
    }
  }

  async #sweep(limit: number): Promise<void> {
    const { sessions, resources } = await this.#look(limit)
    for (const session of sessions) await this.#sessions.end(session, 'lost')
    await Promise.all(resources.map((address) => this.#lanes.go(nameOf(address), { command: { type: 'expire' } })))
    await this.#clear(CLEAR_MS)
  }

  async #look(limit: number) {
    const knownMs = this.#nextMs
    // What is heard of while this looks is not in what it finds.
    this.#nextMs = undefined
    const due = await readDue(this.#connections, this.#clock, limit).catch((error) => {
      this.#lowerNext(knownMs)
      throw error
    })
    this.#lookedAtMs = this.#clock.nowMs()
    this.#lowerNext(due.nextMs)
    this.#waiting = due.waiting
    return due
  }

  /** A process that does nothing leaves it to those that do. */
  async #clear(pauseMs: number): Promise<void> {
    if (!this.#hasLitter || performance.now() < this.#clearedAtMs + pauseMs) return
    this.#clearedAtMs = performance.now()
    this.#hasLitter = false
    await clearAway(this.#connections, this.#clock)
  }

  #lowerNext(atMs: number | undefined): void {
    if (atMs !== undefined) this.#nextMs = Math.min(this.#nextMs ?? atMs, atMs)
  }
}

interface Listener {
  readonly listener: (event: StoreEvent) => void
  readonly onGap: (() => void) | undefined
}

/** Whatever the database throws at us, callers get the two errors that the contract knows. */
async function sure<Result>(promise: Promise<Result>): Promise<Result> {
  try {
    return await promise
  } catch (error) {
    throw error instanceof UnknownOutcome ? error : unavailable(error)
  }
}
