import {
  type Acquire,
  type Command,
  type Facts,
  mayActFor,
  type Refused,
  type Release,
  type ReplyTo,
  type Skip,
} from '../core/index.ts'
import {
  type ErrorBody,
  type ErrorCode,
  errorBody,
  jsonBytes,
  type Quotas,
  type ReplyOf,
  type RequestOf,
  type RequestType,
  type ServiceRequest,
} from '../protocol/index.ts'
import {
  type Address,
  type DirectSteps,
  type Pace,
  SESSION_LOST,
  type SessionReply,
  type Store,
} from '../stores/store.ts'
import { commandOf, isStepping, type Stepping } from './commands.ts'
import { explainedViews } from './explained-views.ts'
import { NodeQuotas } from './quotas.ts'
import type { Seen, Statistics } from './statistics/statistics.ts'
import { STEP_MS } from './statistics/window.ts'
import { StoreGauges } from './store-gauges.ts'

/** A reply as callers get it: a refusal with the sentence that belongs to its code. */
export type Explained<Reply> = Exclude<Reply, Refused> | ErrorBody

const REFERENCES_BUSY =
  'A delete, or another operation that drops all references, is running; add it again when that has ended.'

const NOTHING_KNOWN: Facts = {}

export interface RequestLimits {
  /** What a node and a token may have. Default: `QUOTAS`. */
  readonly quotas?: Quotas | undefined
  /** How many may wait in all. */
  readonly waiters: number
  /** The largest result that is told to others, in bytes of JSON. */
  readonly resultBytes: number
  /** What was seen so far; absent where nobody looks. */
  readonly statistics?: Statistics | undefined
  /** Of Baton. */
  readonly version?: string | undefined
}

/** What some request is answered. */
export type AnyReply = ReplyOf<RequestType>

/** A command, the resource that it is for, and what is known of whoever gives it. */
export interface Commanded<C extends Acquire | Release> {
  readonly address: Address
  readonly command: C
  readonly facts: Facts
}

/** Requests, answered by the store. */
export class Requests {
  readonly #store: Store
  readonly #limits: RequestLimits
  readonly #quotas: NodeQuotas
  readonly gauges: StoreGauges

  constructor(store: Store, limits: RequestLimits) {
    this.#store = store
    this.#limits = limits
    this.#quotas = new NodeQuotas(store, limits.quotas)
    this.gauges = new StoreGauges(store, limits.statistics)
    // What waited before this process began, and what the policy names.
    if (limits.statistics) this.gauges.read().catch(() => {})
  }

  /** `pace`: of those that may take long. */
  async answer(request: ServiceRequest, facts: Facts, pace: Pace): Promise<AnyReply> {
    return this.#counted(request, await this.#answer(request, facts, pace))
  }

  async #answer(request: ServiceRequest, facts: Facts, pace: Pace): Promise<AnyReply> {
    if (isStepping(request)) return this.#step(request, facts)
    const store = this.#store
    switch (request.type) {
      case 'drop-node':
        return mayActFor(facts, request.node) ? this.#dropNode(request, pace) : errorBody('forbidden')
      case 'open-session':
        return mayActFor(facts, request.node) ? this.#openSession(request, facts) : errorBody('forbidden')
      case 'renew-session':
        return explained(await store.renewSession(request.session))
      case 'close-session':
        await store.closeSession(request.session)
        return { status: 'closed' }
      case 'list-places': {
        const places = await store.places(request.session)
        return places ? { status: 'places', places } : explained(SESSION_LOST)
      }
      case 'get-resource': {
        const view = (await store.read(request, request.waiters)) ?? idleView(addressOf(request))
        const [resource = view] = await explainedViews(store, this.#limits.statistics, [view])
        return { status: 'resource', resource, nowMs: store.nowMs() }
      }
      case 'list-waiters':
        return { status: 'waiters', ...(await store.waiters(request, request)) }
      case 'list-resources':
        return this.#list(request, pace)
      case 'get-timeline':
        return {
          status: 'timeline',
          nowMs: store.nowMs(),
          grants: this.#limits.statistics?.timeline(addressOf(request)) ?? [],
        }
      case 'get-overview':
        return this.#overview(request)
      case 'get-policy':
        return { status: 'policy', ...(await store.policy()) }
      case 'apply-policy': {
        const { applied, version, policy } = await store.applyPolicy(request.policy, request.version)
        this.#limits.statistics?.use(policy)
        return applied ? { status: 'policy', version, policy } : errorBody('policy-changed')
      }
    }
  }

  /** The same for one that is a step, at once; not to be told before it is durable. */
  answerNow(direct: DirectSteps, request: Stepping, facts: Facts): AnyReply {
    if (this.#isTooLarge(request)) return this.#counted(request, errorBody('too-large', this.#tooLarge()))
    const reply = direct.step(request, commandOf(request), this.#factsFor(request, facts))
    if (reply.status === 'skip') this.#skipped(request, request, reply)
    return this.#counted(request, explainedTo(request, reply))
  }

  /** The same for a command that is no request of `/v1`. */
  async command<C extends Acquire | Release>(commanded: Commanded<C>): Promise<Explained<ReplyTo<C>>> {
    const { address, command, facts } = commanded
    const reply = await this.#store.step(address, command, this.#factsFor(command, facts))
    if (reply.status === 'skip') this.#skipped(address, command, reply)
    return this.#counted(command, explained<ReplyTo<C>>(reply))
  }

  commandNow<C extends Acquire | Release>(
    direct: DirectSteps,
    { address, command, facts }: Commanded<C>,
  ): Explained<ReplyTo<C>> {
    const reply = direct.step(address, command, this.#factsFor(command, facts))
    if (reply.status === 'skip') this.#skipped(address, command, reply)
    return this.#counted(command, explained<ReplyTo<C>>(reply))
  }

  async #step(request: Stepping, facts: Facts): Promise<AnyReply> {
    if (this.#isTooLarge(request)) return errorBody('too-large', this.#tooLarge())
    const reply = await this.#store.step(
      addressOf(request),
      commandOf(request) as Command,
      this.#factsFor(request, facts),
    )
    if (reply.status === 'skip') this.#skipped(request, request, reply)
    return explainedTo(request, reply)
  }

  async #list(request: RequestOf<'list-resources'>, pace: Pace): Promise<ReplyOf<'list-resources'>> {
    const { resources, ...page } = await this.#store.list(request, pace)
    const explained = await explainedViews(this.#store, this.#limits.statistics, resources)
    return { status: 'resources', resources: explained, ...page, nowMs: this.#store.nowMs() }
  }

  async #overview({ namespace }: RequestOf<'get-overview'>): Promise<ReplyOf<'get-overview'>> {
    const store = this.#store
    const { statistics, version = '' } = this.#limits
    const { counts } = await this.gauges.read()
    const nowMs = store.nowMs()
    const seen = statistics?.overview(namespace, nowMs) ?? nothingSeen(nowMs)
    return {
      status: 'overview',
      nowMs,
      version,
      storeId: store.id,
      ...(namespace === undefined && { counts }),
      ...seen,
    }
  }

  #counted<Reply extends { readonly status: string; readonly code?: ErrorCode }>(
    { type }: { readonly type: ServiceRequest['type'] },
    reply: Reply,
  ): Reply {
    this.#limits.statistics?.answers.count(type, reply)
    return reply
  }

  /** An ask that is answered so at once is no event of the store. */
  #skipped(address: Address, asked: Stepping | Acquire | Release, { fence }: Skip): void {
    if (asked.type !== 'acquire') return
    this.#limits.statistics?.skipped(address, { operation: asked.operation, fence, atMs: this.#store.nowMs() })
  }

  stop(): void {
    this.#quotas.stop()
  }

  /** Nothing where nothing is known. */
  #factsFor(
    { type, node }: { readonly type: string; readonly node?: string | undefined },
    facts: Facts,
  ): Facts | undefined {
    if (node !== undefined && (type === 'acquire' || type === 'add-reference')) {
      const mayQueue = this.#store.waiting() < this.#limits.waiters
      const full = this.#quotas.factsFor(node, facts)
      if (full || !mayQueue) return { ...facts, ...full, ...(!mayQueue && { mayQueue }) }
    }
    if (facts.actsFor === undefined && facts.mayQueue === undefined) return undefined
    // Knowing a session is being it: no more is asked.
    return type === 'leave-place' ? NOTHING_KNOWN : facts
  }

  /** One that is there already is renewed, however many there are. */
  async #openSession(request: RequestOf<'open-session'>, facts: Facts): Promise<ReplyOf<'open-session'>> {
    if (this.#quotas.mayOpenSession(request.node, facts)) return explained(await this.#store.openSession(request))
    const renewed = await this.#store.renewSession(request.session)
    return renewed.status === 'alive' ? renewed : errorBody('quota-exceeded')
  }

  #isTooLarge(request: Stepping): boolean {
    if (request.type !== 'release' || request.outcome !== 'success' || request.result === undefined) return false
    return jsonBytes(request.result) > this.#limits.resultBytes
  }

  #tooLarge(): string {
    const { resultBytes } = this.#limits
    return `The result is larger than ${resultBytes} bytes; send resultOmitted in its place, or raise the server's result_limit.`
  }

  /** A page at a time: other requests go on meanwhile. */
  async #dropNode({ node, namespace }: RequestOf<'drop-node'>, pace: Pace): Promise<ReplyOf<'drop-node'>> {
    let resources = 0
    let after: string | undefined
    do {
      const page = await this.#store.list({ namespace, node, after, limit: 500 }, pace)
      for (const view of page.resources) {
        await pace.pause()
        await this.#store.step(view, { type: 'drop-node', node })
        resources++
      }
      after = page.next
    } while (after !== undefined)
    return { status: 'dropped', resources }
  }
}

function explainedTo({ type }: Stepping, reply: ReplyTo<Command> | Refused): AnyReply {
  if (reply.status !== 'refused') return reply as AnyReply
  if (type === 'add-reference' && reply.code === 'busy') return errorBody('busy', REFERENCES_BUSY)
  return errorBody(reply.code)
}

/** A refusal of the core or the store with the sentence that belongs to its code. */
function explained<Reply extends { status: string }>(reply: Reply | Refused | SessionReply): Explained<Reply> {
  if (reply.status === 'refused') return errorBody((reply as Refused).code)
  return reply as Exclude<Reply, Refused>
}

/** Where nobody counts. */
function nothingSeen(nowMs: number): Seen {
  const totals = { grants: 0, handOvers: 0, skips: 0, successes: 0, failures: 0, expired: 0 }
  return { sinceMs: nowMs, totals, stepMs: STEP_MS, points: [] }
}

function addressOf({ namespace, resource }: Address): Address {
  return { namespace, resource }
}

function idleView({ namespace, resource }: Address) {
  return {
    namespace,
    resource,
    fence: 0,
    grants: [],
    waiters: [],
    waiting: 0,
    queues: [],
    references: [],
    kept: [],
    recent: [],
    pauses: [],
  }
}
