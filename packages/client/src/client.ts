import { hostname } from 'node:os'
import type { Policy, WaiterView } from '@baton-lock/core'
import { LIMITS, type Overview, type RequestType, type WireEvent } from '@baton-lock/protocol'
import type {
  AskOptions,
  Baton,
  ConnectOptions,
  Done,
  Grant,
  LeadContext,
  Leader,
  LeadOptions,
  Lock,
  LockOptions,
  OnceOptions,
  References,
  ResourceStatus,
  RunContext,
  RunOptions,
  Timeline,
  TryLockOptions,
} from './api.ts'
import { ask } from './asks/ask.ts'
import { subjectOf } from './asks/ask-error.ts'
import { type AskKind, type AskSpec, askSpec } from './asks/ask-spec.ts'
import { Deadlocks } from './asks/deadlocks.ts'
import { checkCallback, checkIds, checkOptions } from './check-options.ts'
import type { ClientParts } from './client-parts.ts'
import { pause } from './clock.ts'
import type { InputOf, Transport } from './connection/transport.ts'
import type { Environment } from './environment.ts'
import { BatonError, RefusedError, SkippedError } from './errors.ts'
import type { Grant as HeldGrant } from './grants/grant.ts'
import { lead } from './grants/lead.ts'
import { underLock } from './grants/lock.ts'
import { run } from './grants/run.ts'
import { ScopedGrant } from './grants/scoped-grant.ts'
import { UsualHolds } from './grants/usual-holds.ts'
import { namesOf } from './random.ts'
import { eventFeed } from './requests/event-feed.ts'
import { changeReference, dropNode, forget, revoke } from './requests/guarded.ts'
import { allResources, allWaiters } from './requests/pages.ts'
import { Sender, within } from './requests/sender.ts'
import { List } from './session/list.ts'
import { ClientSessions, type Session } from './session/session.ts'
import { SessionStream } from './session/session-stream.ts'
import { UnknownPlaces } from './session/unknown-places.ts'
import { startWorkSpan } from './traces/work-span.ts'

type Callback<Result> = (context: RunContext) => Result | Promise<Result>
type In = { readonly namespace?: string }

/** How long `close` tries to end the session; after that it ends by itself. */
const CLOSE_MS = 3_000

/** How many ttls a client relies on events if nothing between it and the store can lose them. */
const TRUST_TTLS = 10

const LOCK: AskKind = { leavingIs: 'success' }
const SCOPED_LOCK: AskKind = { leavingIs: 'success', isScoped: true }

/** The client, over any transport. */
export class Client implements Baton {
  readonly node: string
  readonly references: References
  readonly #transport: Transport
  readonly #parts: ClientParts
  /** The namespace option. Without it, lists include all namespaces. */
  readonly #boundTo: string | undefined
  #closing: Promise<void> | undefined

  constructor(transport: Transport, environment: Environment, options: ConnectOptions = {}) {
    const { node = hostname(), namespace = 'default', ttlMs = LIMITS.ttlDefaultMs, whenUnavailable = 'wait' } = options
    const sender = new Sender(transport, environment)
    const stream = new SessionStream(transport, sender, environment)
    const unknownPlaces = new UnknownPlaces(sender, () => stream.placeNames())
    const onRenewed = (session: Session, places: number) => void unknownPlaces.check(session, places).catch(() => {})
    this.node = node
    this.#boundTo = options.namespace
    this.#transport = transport
    this.#parts = {
      ...environment,
      node,
      namespace,
      nextName: namesOf(environment.random),
      ttlMs,
      trustMs: transport.isDirect ? TRUST_TTLS * ttlMs : ttlMs,
      whenUnavailable,
      sender,
      sessions: new ClientSessions(sender, environment, { node, ttlMs, onRenewed }),
      stream,
      usualHolds: new UsualHolds(),
      deadlocks: new Deadlocks(options.deadlock, environment.notice),
      open: new List(),
    }
    this.references = this.#references()
  }

  lock<Result>(resource: string, callback: Callback<Result>, options?: LockOptions): Promise<Result>
  lock(resource: string, options?: LockOptions): Promise<Lock>
  async lock<Result>(
    resource: string,
    callbackOrOptions: Callback<Result> | LockOptions = {},
    more: LockOptions = {},
  ): Promise<Result | Lock> {
    const callback = typeof callbackOrOptions === 'function' ? callbackOrOptions : undefined
    const options = typeof callbackOrOptions === 'function' ? more : callbackOrOptions
    this.#check('lock', { resource }, options)
    const kind = callback ? LOCK : SCOPED_LOCK
    const spec = askSpec(this.#parts, 'lock', resource, options, kind)
    const answer = await ask(this.#parts, spec)
    // Only a changed row skips: then nobody is excluded.
    if (answer.status === 'skip') throw new SkippedError(answer, subjectOf(spec))
    // Awaited, as a promise that is returned takes two more turns.
    if (callback) return await underLock(this.#parts, answer, callback)
    return this.#scoped(answer)
  }

  async tryLock(resource: string, options: TryLockOptions = {}): Promise<Lock | null> {
    this.#check('tryLock', { resource }, options)
    return this.#try('lock', resource, options, 'success')
  }

  async once<Result>(resource: string, callback: Callback<Result>, options: OnceOptions = {}): Promise<Done<Result>> {
    this.#check('once', { resource }, options, callback)
    return run(this.#parts, { operation: 'once', resource }, callback, options)
  }

  async forget(resource: string, options: In & { operation?: string } = {}): Promise<boolean> {
    this.#check('forget', { resource }, options)
    const { operation = 'once', namespace } = options
    return forget(this.#parts.sender, { operation, resource, ...this.#in(namespace) })
  }

  async lead<Result>(
    name: string,
    callback: (context: LeadContext) => Result | Promise<Result>,
    options: LeadOptions = {},
  ): Promise<Result | undefined> {
    this.#check('lead', { name }, options, callback)
    return lead(this.#parts, name, { callback, options })
  }

  async leader(name: string, options: In = {}): Promise<Leader | undefined> {
    this.#check('leader', { name }, options)
    const { grants } = await this.status(name, options)
    const grant = grants.find(({ operation, claimed }) => operation === 'lead' && claimed)
    return grant && { node: grant.node, fence: grant.fence, since: new Date(grant.sinceMs) }
  }

  async run<Result>(
    operation: string,
    resource: string,
    callback: Callback<Result>,
    options: RunOptions = {},
  ): Promise<Done<Result>> {
    this.#check('run', { operation, resource }, options, callback)
    return run(this.#parts, { operation, resource }, callback, options)
  }

  async acquire(operation: string, resource: string, options: AskOptions = {}): Promise<Grant> {
    this.#check('acquire', { operation, resource }, options)
    return await this.#acquire(operation, resource, options)
  }

  async tryAcquire(
    operation: string,
    resource: string,
    options: Omit<AskOptions, 'waitMs' | 'queueing'> = {},
  ): Promise<Grant | null> {
    this.#check('tryAcquire', { operation, resource }, options)
    return this.#try(operation, resource, options, 'failure')
  }

  async status(resource: string, options: In = {}): Promise<ResourceStatus> {
    this.#check('status', { resource }, options)
    const reply = await this.#query({ type: 'get-resource', resource, ...this.#in(options.namespace) })
    return { ...reply.resource, nowMs: reply.nowMs }
  }

  async waiters(resource: string, options: In = {}): Promise<readonly WaiterView[]> {
    this.#check('waiters', { resource }, options)
    return allWaiters(this.#parts.sender, { resource, ...this.#in(options.namespace) })
  }

  async *list(options: In & { prefix?: string; node?: string; active?: boolean } = {}): AsyncGenerator<ResourceStatus> {
    this.#check('list', {}, options)
    yield* allResources(this.#parts.sender, { ...options, namespace: options.namespace ?? this.#boundTo })
  }

  async timeline(resource: string, options: In = {}): Promise<Timeline> {
    this.#check('timeline', { resource }, options)
    const { nowMs, grants } = await this.#query({ type: 'get-timeline', resource, ...this.#in(options.namespace) })
    return { nowMs, grants }
  }

  async overview(options: In = {}): Promise<Overview> {
    this.#check('overview', {}, options)
    const namespace = options.namespace ?? this.#boundTo
    const { status: _, ...overview } = await this.#query({ type: 'get-overview', namespace })
    return overview
  }

  async revoke(operation: string, resource: string, options: In & { fence?: number } = {}) {
    this.#check('revoke', { operation, resource }, options)
    const { namespace, fence } = options
    return revoke(this.#parts.sender, { operation, resource, by: this.node, ...this.#in(namespace) }, fence)
  }

  async *events(options: In & { resource?: string; signal?: AbortSignal } = {}): AsyncGenerator<WireEvent> {
    this.#check('events', {}, options)
    const { resource, signal } = options
    const { whenUnavailable } = this.#parts
    const namespace = options.namespace ?? this.#boundTo
    const scope =
      resource === undefined
        ? ({ of: 'all', namespace } as const)
        : ({ of: 'resource', resource, ...this.#in(options.namespace) } as const)
    for await (const event of eventFeed(this.#parts, this.#transport, { scope, signal, whenUnavailable })) {
      const isElsewhere = namespace !== undefined && 'namespace' in event && event.namespace !== namespace
      if (!isElsewhere) yield event
    }
  }

  async policy(): Promise<{ version: number; policy: Policy }> {
    const { version, policy } = await this.#query({ type: 'get-policy' })
    return { version, policy }
  }

  async applyPolicy(policy: unknown, expectedVersion: number): Promise<{ version: number; policy: Policy }> {
    const request = { type: 'apply-policy', version: expectedVersion, policy } as InputOf<'apply-policy'>
    const applied = await this.#query(request)
    return { version: applied.version, policy: applied.policy }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #close(): Promise<void> {
    const { clock, open, sender, sessions, stream } = this.#parts
    const sleep = clock.stayAwake()
    const ended = [...open].map((each) => each.close())
    await Promise.race([Promise.allSettled(ended), pause(clock, CLOSE_MS)])
    stream.close()
    const session = sessions.current?.id
    if (session !== undefined) {
      const request = { type: 'close-session', session } as const
      await sender.request<'close-session'>(request, { leftMs: within(clock, CLOSE_MS) }).catch(() => {})
    }
    sessions.current?.lose({ kind: 'client-closed' })
    await this.#transport.close()
    sleep()
  }

  async #try(
    operation: string,
    resource: string,
    options: AskOptions,
    leavingIs: AskSpec['leavingIs'],
  ): Promise<ScopedGrant | null> {
    try {
      return await this.#acquire(operation, resource, { ...options, waitMs: 0 }, { leavingIs, isTry: true })
    } catch (error) {
      if (error instanceof RefusedError && error.code === 'busy') return null
      throw error
    }
  }

  #scoped(grant: HeldGrant): ScopedGrant {
    startWorkSpan(this.#parts, grant)
    return new ScopedGrant(grant)
  }

  async #acquire(operation: string, resource: string, options: AskOptions, kind: AskKind = {}): Promise<ScopedGrant> {
    const spec = askSpec(this.#parts, operation, resource, options, { ...kind, isScoped: true })
    const answer = await ask(this.#parts, spec)
    if (answer.status === 'skip') throw new SkippedError(answer, subjectOf(spec))
    return this.#scoped(answer)
  }

  #check(
    call: Parameters<typeof checkOptions>[0],
    ids: Readonly<Record<string, unknown>>,
    options: object,
    ...callback: readonly unknown[]
  ): void {
    this.#checkOpen()
    checkIds(call, ids)
    if (callback.length > 0) checkCallback(call, callback[0])
    checkOptions(call, options)
  }

  #references(): References {
    const { sender } = this.#parts
    const at = (resource: string, options: In & { node?: string } = {}) => {
      this.#check('references', { resource }, options)
      return { resource, node: options.node ?? this.node, ...this.#in(options.namespace) }
    }
    return {
      list: async (resource, options) => (await this.status(resource, options)).references,
      add: async (resource, options) => changeReference(sender, 'add-reference', at(resource, options)),
      release: async (resource, options) => changeReference(sender, 'release-reference', at(resource, options)),
      dropNode: async (node, options = {}) => {
        this.#checkOpen()
        return dropNode(sender, node, options.namespace ?? this.#boundTo)
      },
    }
  }

  async #query<Type extends RequestType>(request: InputOf<Type> & { readonly type: Type }) {
    this.#checkOpen()
    return this.#parts.sender.query<Type>(request)
  }

  #in(namespace: string | undefined): { namespace: string } {
    return { namespace: namespace ?? this.#parts.namespace }
  }

  #checkOpen(): void {
    if (this.#closing) throw new BatonError('closed', 'the client was closed')
  }
}
