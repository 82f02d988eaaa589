import {
  type Command,
  defaultPolicy,
  type Event,
  type Policy,
  policyOf,
  type Reply,
  type ReplyTo,
  type Resource,
  type ResourceView,
  type Standing,
  standingOf,
  step,
  viewOf,
} from '../../core/index.ts'
import { Sessions } from '../sessions.ts'
import { nameOf, Shards } from '../shards.ts'
import type {
  Address,
  Clock,
  Counts,
  ListQuery,
  Page,
  Place,
  SessionRefusal,
  SessionReply,
  SessionRequest,
  Store,
  StoreEvent,
  VersionedPolicy,
} from '../store.ts'

export interface MemoryStoreOptions {
  readonly clock: Clock
  readonly policy?: Policy
  /** Told of every step that was taken, in order: for those who check histories. */
  readonly onStep?: (step: StepTaken) => void
}

export interface StepTaken extends Address {
  readonly nowMs: number
  readonly command: Command
  readonly reply: Reply
  readonly events: readonly Event[]
}

/** Keeps everything in this process and forgets it with the process. */
export function openMemoryStore({ clock, policy = defaultPolicy, onStep }: MemoryStoreOptions): Store {
  return new MemoryStore(clock, { version: 1, policy }, onStep)
}

/** JavaScript runs one step at a time, so every step here is atomic by itself. */
class MemoryStore implements Store {
  readonly #clock: Clock
  readonly #shards = new Shards()
  readonly #sessions = new Sessions()
  readonly #listeners = new Set<(event: StoreEvent) => void>()
  readonly #onStep: MemoryStoreOptions['onStep']
  #policy: VersionedPolicy
  #seq = 0
  #grants = 0
  #waiters = 0

  constructor(clock: Clock, policy: VersionedPolicy, onStep: MemoryStoreOptions['onStep']) {
    this.#clock = clock
    this.#policy = policy
    this.#onStep = onStep
  }

  nowMs(): number {
    return this.#clock.nowMs()
  }

  async step<C extends Command>(address: Address, command: C): Promise<ReplyTo<C> | SessionRefusal> {
    const nowMs = this.#clock.nowMs()
    this.#endDueSessions(nowMs)
    if (command.type === 'acquire' && command.session !== undefined && !this.#sessions.isAlive(command.session)) {
      return { status: 'refused', code: 'session-lost' }
    }
    return this.#run(address, command, nowMs)
  }

  async read(address: Address): Promise<ResourceView | undefined> {
    const resource = this.#settled(address)
    return resource && viewOf(resource)
  }

  async standing(place: Place & { readonly hold: string }): Promise<Standing> {
    const resource = this.#settled(place)
    return resource ? standingOf(resource, place) : { status: 'nothing' }
  }

  async list(query: ListQuery): Promise<Page> {
    const found: Resource[] = []
    for (const resource of this.#shards.all()) if (matches(resource, query)) found.push(resource)
    const named = found.map((resource) => ({
      resource,
      name: nameOf({ namespace: resource.namespace, resource: resource.id }),
    }))
    named.sort((a, b) => (a.name < b.name ? -1 : 1))
    const page = named.filter(({ name }) => query.after === undefined || name > query.after).slice(0, query.limit + 1)
    const resources = page.slice(0, query.limit)
    const next = page.length > query.limit ? resources.at(-1)?.name : undefined
    return { resources: resources.map(({ resource }) => viewOf(resource, 100)), ...(next !== undefined && { next }) }
  }

  async openSession(request: SessionRequest): Promise<SessionReply> {
    const nowMs = this.#clock.nowMs()
    this.#endDueSessions(nowMs)
    return this.#sessions.open(request, nowMs)
  }

  async renewSession(session: string): Promise<SessionReply> {
    const nowMs = this.#clock.nowMs()
    this.#endDueSessions(nowMs)
    return this.#sessions.renew(session, nowMs)
  }

  async closeSession(session: string): Promise<void> {
    this.#endSession(session, this.#clock.nowMs())
  }

  async places(session: string): Promise<readonly Place[] | undefined> {
    return this.#sessions.places(session)
  }

  async sweep(limit: number): Promise<void> {
    const nowMs = this.#clock.nowMs()
    this.#endDueSessions(nowMs)
    for (let count = 0; count < limit; count++) {
      const resource = this.#shards.takeDue(nowMs)
      if (!resource) return
      this.#run({ namespace: resource.namespace, resource: resource.id }, { type: 'expire' }, nowMs)
    }
  }

  nextDeadlineMs(): number | undefined {
    const nextMs = Math.min(this.#sessions.nextDeadlineMs() ?? Infinity, this.#shards.nextDeadlineMs() ?? Infinity)
    return nextMs === Infinity ? undefined : nextMs
  }

  subscribe(listener: (event: StoreEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async policy(): Promise<VersionedPolicy> {
    return this.#policy
  }

  async applyPolicy(policy: Policy, expectedVersion: number): Promise<VersionedPolicy & { readonly applied: boolean }> {
    const applied = expectedVersion === this.#policy.version
    if (applied) this.#policy = { version: expectedVersion + 1, policy }
    return { ...this.#policy, applied }
  }

  counts(): Counts {
    return { resources: this.#shards.size, grants: this.#grants, waiters: this.#waiters, sessions: this.#sessions.size }
  }

  async close(): Promise<void> {
    this.#listeners.clear()
  }

  #run<C extends Command>(address: Address, command: C, nowMs: number): ReplyTo<C> {
    const resource = this.#shards.getOrCreate(address)
    const before = { grants: resource.grants.size, waiters: resource.waiters.size }
    const { reply, events } = step(resource, command, {
      nowMs,
      policy: policyOf(this.#policy.policy, address.namespace),
      fenceFloor: this.#shards.fenceFloor(address.resource),
    })
    this.#grants += resource.grants.size - before.grants
    this.#waiters += resource.waiters.size - before.waiters
    if (command.type === 'acquire') this.#sessions.touch(resource, { ...command, session: command.session })
    this.#sessions.follow(resource, events)
    this.#shards.settle(resource)
    this.#onStep?.({ ...address, nowMs, command, reply, events })
    for (const event of events) {
      const carried = {
        ...event,
        namespace: address.namespace,
        resource: address.resource,
        seq: ++this.#seq,
        atMs: nowMs,
      }
      for (const listener of this.#listeners) listener(carried)
    }
    return reply
  }

  /** The resource with its due deadlines applied. */
  #settled(address: Address): Resource | undefined {
    if (!this.#shards.get(address)) return undefined
    this.#run(address, { type: 'expire' }, this.#clock.nowMs())
    return this.#shards.get(address)
  }

  #endDueSessions(nowMs: number): void {
    for (let id = this.#sessions.due(nowMs); id !== undefined; id = this.#sessions.due(nowMs))
      this.#endSession(id, nowMs)
  }

  #endSession(session: string, nowMs: number): void {
    for (const place of this.#sessions.end(session)) {
      const { operation, owner } = place
      this.#run(place, { type: 'session-lost', session, operation, owner }, nowMs)
    }
  }
}

function matches(resource: Resource, { namespace, prefix, node, active }: ListQuery): boolean {
  if (namespace !== undefined && resource.namespace !== namespace) return false
  if (prefix !== undefined && !resource.id.startsWith(prefix)) return false
  if (active && resource.grants.size === 0 && resource.waiters.size === 0) return false
  return node === undefined || concerns(resource, node)
}

function concerns(resource: Resource, node: string): boolean {
  if (resource.references.has(node)) return true
  for (const grant of resource.grants.values()) if (grant.node === node) return true
  for (const kept of resource.kept.values()) if (kept.node === node) return true
  return resource.waiters.list(Infinity).some((waiter) => waiter.node === node)
}
