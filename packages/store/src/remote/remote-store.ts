import type { AskName, Command, Facts, Policy, Recipient, Standing } from '@baton-lock/core'
import type { OpenStoreOptions } from '../kind.ts'
import type {
  Address,
  AskAt,
  Counts,
  EventListener,
  ListQuery,
  Pace,
  Page,
  Place,
  QueueDepth,
  SessionReply,
  SessionRequest,
  StepReply,
  Store,
  VersionedPolicy,
} from '../store.ts'
import type { Timing } from '../timing.ts'
import { type Leases, type View, Views } from '../views.ts'
import { DEADLINE_MS } from './attempts.ts'
import type { Backend, StepRecord } from './backend.ts'
import { Deliveries } from './deliveries.ts'
import { Dispatch } from './dispatch.ts'
import { eachOf } from './each-of.ts'
import { Lanes } from './lanes.ts'
import { letterFrom, type StepsLetter } from './letter.ts'
import { type Inspect, listOf } from './listing.ts'
import type { GivenCommand } from './open-resource.ts'
import { RemoteSessions } from './sessions.ts'
import { Standings } from './standings.ts'
import { type Job, Steps } from './steps.ts'
import { StoredPolicy } from './stored-policy.ts'
import { Sweeps } from './sweeps.ts'

interface RemoteStoreOptions {
  readonly timing: Timing
  /** The first process writes it down; every later one must be configured alike. Absent: whatever is stored counts. */
  readonly policy?: Policy | undefined
  /** Every step is kept with its change, for those who check histories. */
  readonly recordHistory?: boolean | undefined
  /** Told of every session that this process opens or ends. */
  readonly onSession?: OpenStoreOptions['onSession']
}

/** What is left behind where the database does not answer is cleared away by others. */
const TIDY_MS = 2_000

/** What they held on one resource is taken away together; but other processes end others meanwhile. */
const SESSIONS_AT_ONCE = 8

/** A store in a database that many processes share. */
export async function openRemoteStore(backend: Backend, options: RemoteStoreOptions): Promise<Store> {
  const store = new RemoteStore(backend, options)
  await store.start(options.policy)
  return store
}

class RemoteStore extends Views implements Store {
  readonly id: string
  readonly #backend: Backend
  readonly #timing: Timing
  readonly #policy: StoredPolicy
  readonly #steps: Steps
  readonly #dispatch: Dispatch
  readonly #lanes: Lanes<GivenCommand, StepRecord>
  readonly #sessions: RemoteSessions
  readonly #sweeps: Sweeps
  readonly #standings = new Standings((address, view, asks) => this.inspect(address, view, asks))
  readonly #deliveries = new Deliveries((letter) => this.#tell(letter))
  readonly #listeners = new Set<Listener>()

  constructor(backend: Backend, { timing, recordHistory = false, onSession }: RemoteStoreOptions) {
    super()
    this.id = backend.storeId
    this.#backend = backend
    this.#timing = timing
    this.#policy = new StoredPolicy(backend)
    this.#sweeps = new Sweeps(backend, timing)
    this.#sessions = new RemoteSessions(backend, {
      step: (place, command) => this.#run(place, { command }),
      onSession,
    })
    this.#steps = new Steps(backend, {
      policy: this.#policy,
      deliveries: this.#deliveries,
      isHere: (session) => this.#sessions.isHere(session),
      missed: () => this.#missed(),
      recordHistory,
    })
    this.#dispatch = new Dispatch(this.#steps, backend)
    this.#lanes = new Lanes((address, given, byMs) => this.#runJob({ address, given, byMs }))
  }

  async start(policy: Policy | undefined): Promise<void> {
    await this.#policy.begin(policy)
    await this.#sweeps.findDue(0)
    await this.#backend.listen({
      receive: (text) => this.#receive(text),
      missed: () => {
        this.#sessions.missed()
        this.#missed()
      },
      due: () => this.#due(),
    })
  }

  nowMs(): number {
    return this.#backend.nowMs()
  }

  async step<C extends Command>(address: Address, command: C, facts?: Facts): Promise<StepReply<C>> {
    const { reply } = await this.#run(address, { command, facts })
    return reply as StepReply<C>
  }

  /** Every step resolves when it is durable. */
  durable(): undefined {}

  override standing(ask: AskAt): Promise<Standing> {
    return this.#standings.of(ask)
  }

  list(query: ListQuery, pace?: Pace): Promise<Page> {
    const inspect: Inspect = (address, view) => this.inspect(address, view)
    return listOf(this.#backend, inspect, { query, pace })
  }

  async openSession(request: SessionRequest): Promise<SessionReply> {
    const reply = await this.#sessions.open(request)
    if (reply.status === 'alive') this.#sweeps.expect(this.#backend.nowMs() + reply.ttlMs)
    return reply
  }

  renewSession(session: string): Promise<SessionReply> {
    return this.#sessions.renew(session)
  }

  closeSession(session: string): Promise<void> {
    return this.#sessions.end(session, 'left')
  }

  places(session: string, limit?: number): Promise<readonly Place[] | undefined> {
    return this.#backend.placesOf(session, limit)
  }

  async sweep(limit: number): Promise<void> {
    const { sessions, resources } = await this.#sweeps.findDue(limit)
    await Promise.all([
      eachOf(sessions, SESSIONS_AT_ONCE, (session) => this.#sessions.end(session, 'lost')),
      eachOf(resources, limit, (address) => this.#run(address, { command: { type: 'expire' } })),
    ])
    await this.#sweeps.clear()
  }

  nextDeadlineMs(): number {
    return this.#sweeps.nextMs()
  }

  subscribe(listener: EventListener, onGap?: () => void, onDue?: () => void): () => void {
    const entry = { listener, onGap, onDue }
    this.#listeners.add(entry)
    return () => this.#listeners.delete(entry)
  }

  hearAll(): Promise<void> {
    return this.#backend.hearAll()
  }

  policy(): Promise<VersionedPolicy> {
    return this.#policy.read()
  }

  applyPolicy(policy: Policy, expectedVersion: number): Promise<VersionedPolicy & { readonly applied: boolean }> {
    return this.#policy.apply(policy, expectedVersion)
  }

  waiting(): number {
    return this.#sweeps.waiting
  }

  counts(): Promise<Counts> {
    return this.#backend.counts()
  }

  queues(): Promise<readonly QueueDepth[]> {
    return this.#backend.queues()
  }

  async close(): Promise<void> {
    this.#listeners.clear()
    await this.#timing.within(TIDY_MS, this.#sweeps.clear(0), () => new Error('no answer')).catch(() => {})
    await this.#backend.close()
  }

  protected leasesOf(sessions: readonly string[]): Promise<Leases> {
    return this.#backend.leasesOf(sessions)
  }

  /** Where something is due, it is done first. */
  protected async inspect<Result>(
    address: Address,
    view: View<Result>,
    asks: readonly AskName[] = [],
  ): Promise<Result | undefined> {
    for (;;) {
      const { result, isDue } = await this.#steps.inspect(address, view, asks)
      if (!isDue) return result
      await this.#run(address, { command: { type: 'expire' } })
    }
  }

  #run({ namespace, resource }: Address, given: GivenCommand): Promise<StepRecord> {
    return this.#lanes.go({ namespace, resource }, given, this.#timing.monoMs() + DEADLINE_MS)
  }

  async #runJob(job: Job): Promise<readonly StepRecord[]> {
    const { steps, waiting } = await this.#dispatch.run(job)
    const events = steps.flatMap((step) => step.events)
    this.#sweeps.noteSteps(events, waiting)
    return steps
  }

  #receive(text: string): void {
    const letter = letterFrom(text)
    if ('moved' in letter) {
      this.#sessions.moved(letter.moved)
      return
    }
    this.#deliveries.receive({ ...letter, elsewhere: true })
    if (this.#backend.readAhead) setImmediate(() => this.#readAhead(letter))
  }

  /** Whoever was granted something while it waited here will claim it; it was told before this. */
  #readAhead(letter: StepsLetter): void {
    const granted = letter.events.filter(({ event }) => event.type === 'granted')
    const claims = granted.flatMap(({ to }) => to.flatMap((recipient) => this.#claimOf(recipient) ?? []))
    // One that is so quick has come already.
    if (claims.length > 0 && !this.#lanes.isBusy(letter)) this.#backend.readAhead?.(letter, claims)
  }

  #claimOf({ operation, owner, hold, sessions }: Recipient): AskName | undefined {
    const isHere = sessions.some((session) => this.#sessions.isHere(session))
    return isHere && hold !== undefined ? { operation, owner, hold } : undefined
  }

  #tell({ events, dueInMs, elsewhere = false }: StepsLetter): void {
    if (dueInMs !== undefined) this.#sweeps.expect(this.#backend.nowMs() + dueInMs)
    for (const event of events) for (const { listener } of this.#listeners) listener(event, elsewhere)
  }

  #missed(): void {
    for (const { onGap } of this.#listeners) onGap?.()
  }

  #due(): void {
    this.#sweeps.expect(this.#backend.nowMs())
    for (const { onDue } of this.#listeners) onDue?.()
  }
}

interface Listener {
  readonly listener: EventListener
  readonly onGap: (() => void) | undefined
  readonly onDue: (() => void) | undefined
}
