import { type Facts, mayActFor, policyOf, type ResourceView, whyWaiting } from '@baton-lock/core'
import { type ErrorBody, errorBody, type ReplyOf, type RequestOf, type ServiceRequest } from '@baton-lock/protocol'
import { type Address, type Pace, SESSION_LOST, type SessionReply, type Store } from '@baton-lock/store/store'
import type { StoreAvailability } from '../availability.ts'
import type { Seen, Statistics } from '../statistics/statistics.ts'
import type { StoreGauges } from '../statistics/store-gauges.ts'
import { STEP_MS } from '../statistics/window.ts'
import { isReading, type Stepping } from './commands.ts'
import { CycleSearch } from './cycles.ts'
import type { NodeQuotas } from './quotas.ts'
import { AskerGone, type ReadBudget } from './reads.ts'
import type { AnyReply, Steps } from './steps.ts'

interface RequestsOptions {
  readonly steps: Steps
  readonly availability: StoreAvailability
  readonly quotas: NodeQuotas
  readonly gauges: StoreGauges
  /** `undefined` if nothing is counted. */
  readonly statistics: Statistics | undefined
  /** The version of Baton. */
  readonly version: string
  /** The budget of work that runs to its end even if the client has gone. */
  readonly unhurried: ReadBudget
  /** Called after each request: something may be due earlier than before. */
  readonly arm: () => void
}

/** A request that is not a step of one resource. */
type OtherRequest = Exclude<ServiceRequest, Stepping>

/** Answers requests that are not a step of one resource: sessions, reads, the policy, and the removal of a node. */
export class Requests {
  readonly #store: Store
  readonly #options: RequestsOptions

  constructor(store: Store, options: RequestsOptions) {
    this.#store = store
    this.#options = options
  }

  /** `budget`: of the reads that are asked together with this one. */
  async answer(request: OtherRequest, facts: Facts, budget: ReadBudget): Promise<AnyReply> {
    const { availability, unhurried, arm } = this.#options
    try {
      if (!isReading(request)) return await availability.watch(this.#counted(request, facts, unhurried))
      if (budget.isSpent) return this.#notRead()
      const turn = budget.pause()
      if (turn) await turn
      const reply = await availability.watch(this.#counted(request, facts, budget))
      budget.spend(reply)
      return reply
    } catch (error) {
      if (error instanceof AskerGone) return errorBody('not-read', 'Whoever asked has gone.')
      throw error
    } finally {
      arm()
    }
  }

  #notRead(): ErrorBody {
    this.#options.statistics?.answers.refused('not-read')
    return errorBody('not-read')
  }

  /** `pace`: pauses long work. */
  async #counted(request: OtherRequest, facts: Facts, pace: Pace): Promise<AnyReply> {
    const reply = await this.#answer(request, facts, pace)
    this.#options.statistics?.answers.count(request.type, reply)
    return reply
  }

  async #answer(request: OtherRequest, facts: Facts, pace: Pace): Promise<AnyReply> {
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
        const [resource = view] = await explainedViews(store, this.#options.statistics, [view])
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
          grants: this.#options.statistics?.timeline(addressOf(request)) ?? [],
        }
      case 'get-overview':
        return this.#overview(request)
      case 'get-policy':
        return { status: 'policy', ...(await store.policy()) }
      case 'apply-policy': {
        const { applied, version, policy } = await store.applyPolicy(request.policy, request.version)
        this.#options.statistics?.use(policy)
        return applied ? { status: 'policy', version, policy } : errorBody('policy-changed')
      }
    }
  }

  async #list(request: RequestOf<'list-resources'>, pace: Pace): Promise<ReplyOf<'list-resources'>> {
    const { resources, ...page } = await this.#store.list(request, pace)
    const explained = await explainedViews(this.#store, this.#options.statistics, resources)
    return { status: 'resources', resources: explained, ...page, nowMs: this.#store.nowMs() }
  }

  async #overview({ namespace }: RequestOf<'get-overview'>): Promise<ReplyOf<'get-overview'>> {
    const store = this.#store
    const { statistics, version, gauges } = this.#options
    const { counts } = await gauges.read()
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

  /** A session that exists is renewed even if the quota is used up. */
  async #openSession(request: RequestOf<'open-session'>, facts: Facts): Promise<ReplyOf<'open-session'>> {
    if (this.#options.quotas.mayOpenSession(request.node, facts))
      return explained(await this.#store.openSession(request))
    const renewed = await this.#store.renewSession(request.session)
    return renewed.status === 'alive' ? renewed : errorBody('quota-exceeded')
  }

  /** Page by page, with pauses for other requests. */
  async #dropNode({ node, namespace }: RequestOf<'drop-node'>, pace: Pace): Promise<ReplyOf<'drop-node'>> {
    let resources = 0
    let after: string | undefined
    do {
      const page = await this.#store.list({ namespace, node, after, limit: 500 }, pace)
      for (const view of page.resources) {
        await pace.pause()
        await this.#options.steps.takeOne({ address: view, command: { type: 'drop-node', node }, facts: {} })
        resources++
      }
      after = page.next
    } while (after !== undefined)
    return { status: 'dropped', resources }
  }
}

/** A refusal with the message of its code. */
function explained(reply: SessionReply): Exclude<SessionReply, { status: 'refused' }> | ErrorBody {
  return reply.status === 'refused' ? errorBody(reply.code) : reply
}

/** The figures if nothing is counted. */
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

/** Adds the reasons why waiters wait, if there are any. */
async function explainedViews(
  store: Store,
  statistics: Statistics | undefined,
  views: readonly ResourceView[],
): Promise<readonly ResourceView[]> {
  if (!views.some(({ waiting }) => waiting > 0)) return views
  const { policy } = await store.policy()
  const nowMs = store.nowMs()
  const search = new CycleSearch(store, nowMs)
  const explained: ResourceView[] = []
  for (const view of views) {
    if (view.waiting === 0) {
      explained.push(view)
      continue
    }
    const { namespace } = view
    const { exclusion } = policyOf(policy, namespace)
    const usualMs = (operation: string) => statistics?.usualMs(namespace, operation)
    const cycles = await search.cyclesAt(view)
    explained.push({ ...view, why: whyWaiting(view, { nowMs, exclusion, usualMs, cycles }) })
  }
  return explained
}
