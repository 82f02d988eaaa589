import { type Command, defaultPolicy, type Facts, type Policy } from '@baton-lock/core'
import type { OpenStoreOptions } from '../kind.ts'
import { Listeners } from '../resident/listeners.ts'
import { Resident, type StepTaken } from '../resident/resident.ts'
import type {
  Address,
  AskAt,
  Clock,
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
import { type Leases, type View, Views } from '../views.ts'

/** All but the clock has a default. */
interface MemoryStoreOptions {
  readonly clock: Clock
  readonly policy?: Policy
  /** Its id. Default: `memory`. */
  readonly id?: string
  /** Called with every step, in order. For the checkers of histories. */
  readonly onStep?: (step: StepTaken) => void
  /** Called with every session that is opened or ends. */
  readonly onSession?: OpenStoreOptions['onSession']
}

/** Keeps everything in this process, and loses it with the process. */
export function openMemoryStore(options: MemoryStoreOptions): Store {
  return new MemoryStore(options)
}

class MemoryStore extends Views implements Store {
  readonly id: string
  readonly #clock: Clock
  readonly #resident: Resident
  readonly #listeners = new Listeners()

  constructor({ clock, policy = defaultPolicy, id = 'memory', onStep, onSession }: MemoryStoreOptions) {
    super()
    this.id = id
    this.#clock = clock
    this.#resident = new Resident({ policy: { version: 1, policy } })
    clock.onCatchUp?.((isCatchingUp) => {
      this.#resident.spares = isCatchingUp
    })
    this.#resident.journal = {
      ran: (step) => {
        onStep?.(step)
        this.#listeners.tell(step.events)
      },
      ...(onSession && {
        opened: ({ session }) => onSession(session, 'opened'),
        ended: (session, how) => onSession(session, how === 'leave' ? 'left' : 'lost'),
      }),
    }
  }

  nowMs(): number {
    return this.#clock.nowMs()
  }

  step<C extends Command>(address: Address, command: C, facts?: Facts): StepReply<C> {
    return this.#resident.step(address, { command, facts, nowMs: this.#clock.nowMs() })
  }

  durable(): undefined {}

  acknowledge(ask: AskAt): void {
    this.#resident.acknowledge(ask, this.#clock.nowMs())
  }

  async list(query: ListQuery, pace?: Pace): Promise<Page> {
    return this.#resident.list(query, { clock: this.#clock, pace })
  }

  async openSession(request: SessionRequest): Promise<SessionReply> {
    return this.#resident.openSession(request, this.#clock.nowMs())
  }

  async renewSession(session: string): Promise<SessionReply> {
    return this.#resident.renewSession(session, this.#clock.nowMs())
  }

  async closeSession(session: string): Promise<void> {
    this.#resident.closeSession(session, this.#clock.nowMs())
  }

  async places(session: string, limit?: number): Promise<readonly Place[] | undefined> {
    return this.#resident.places(session, limit)
  }

  async sweep(limit: number): Promise<void> {
    this.#resident.sweep(limit, this.#clock.nowMs())
  }

  nextDeadlineMs(): number | undefined {
    return this.#resident.nextDeadlineMs()
  }

  subscribe(listener: EventListener): () => void {
    return this.#listeners.add(listener)
  }

  async policy(): Promise<VersionedPolicy> {
    return this.#resident.policy
  }

  async applyPolicy(policy: Policy, expectedVersion: number): Promise<VersionedPolicy & { readonly applied: boolean }> {
    const applied = expectedVersion === this.#resident.policy.version
    if (applied) this.#resident.policy = { version: expectedVersion + 1, policy }
    return { ...this.#resident.policy, applied }
  }

  async hearAll(): Promise<void> {}

  async counts(): Promise<Counts> {
    return this.#resident.counts()
  }

  waiting(): number {
    return this.#resident.counts().waiters
  }

  async queues(): Promise<readonly QueueDepth[]> {
    return this.#resident.queues.list()
  }

  sessionsOf(node: string): number {
    return this.#resident.sessions.countOf(node)
  }

  sessionsOfPrefix(prefix: string): number {
    return this.#resident.sessions.countOfPrefix(prefix)
  }

  async close(): Promise<void> {
    this.#listeners.clear()
  }

  protected leasesOf(sessions: readonly string[]): Leases {
    return this.#resident.sessions.leasesOf(sessions)
  }

  protected async inspect<Result>(address: Address, view: View<Result>): Promise<Result | undefined> {
    return this.#resident.inspect(address, this.#clock.nowMs(), view)
  }
}
