import {
  type Acquire,
  type Command,
  type Facts,
  type HeardAsker,
  mayActFor,
  type Refused,
  type Release,
  type ReplyTo,
  SHARED_HOLD,
  type Skip,
  type Standing,
} from '../core/index.ts'
import {
  type ErrorBody,
  errorBody,
  type ReplyOf,
  type Request,
  type RequestOf,
  type RequestType,
  type WireEvent,
} from '../protocol/index.ts'
import {
  type Address,
  type AskAt,
  type Counts,
  SESSION_LOST,
  type SessionReply,
  type Store,
  type StoreEvent,
} from '../stores/store.ts'
import { CatchUp, type Sink } from './catch-up.ts'
import { FanOut, hasHeard, type Listener, type Scope } from './fan-out.ts'
import { History } from './history.ts'
import { PlaceKeeper } from './place-keeper.ts'
import { type Notice, Presence } from './presence.ts'
import { Sweeper } from './sweeper.ts'
import { systemTimers, type Timers } from './timers.ts'

export interface ServiceOptions {
  readonly store: Store
  readonly timers?: Timers
  /** How many may wait in all. */
  readonly waiterLimit?: number
  /** How many events are remembered for listeners that come back. */
  readonly historyLimit?: number
  /** Tells the event ids of this service from those of others on the same store. */
  readonly instance?: string
  /** Told when the store goes, and when it is back. Default: says nothing. */
  readonly notice?: Notice
}

const REFERENCES_BUSY =
  'A delete, or another operation that drops all references, is running; add it again when that has ended.'

/** How long a place in line of a request without a session lives after its last sign of life. */
const PLACE_TTL_MS = 60_000
/** So many are named in one step. */
const HEARD_TOGETHER = 500

export interface ListenOptions extends Pick<Facts, 'actsFor'>, Pick<Listener, 'hears'> {
  /** The last event that was heard before. */
  readonly lastId?: string | undefined
}

/** Core and store, joined: requests in, replies out, events to those who listen, deadlines kept. */
export class Service {
  readonly #store: Store
  readonly #fanOut = new FanOut()
  readonly #history: History
  readonly #sweeper: Sweeper
  readonly #places: PlaceKeeper
  readonly #presence: Presence
  readonly #waiterLimit: number
  readonly #timers: Timers
  readonly #unsubscribe: () => void

  constructor(options: ServiceOptions) {
    const { store, timers = systemTimers, waiterLimit = 1_000_000, historyLimit = 4_096 } = options
    const { instance = '', notice = () => {} } = options
    this.#store = store
    this.#waiterLimit = waiterLimit
    this.#timers = timers
    this.#history = new History(historyLimit, `${Math.floor(store.nowMs()).toString(36)}${instance}`)
    this.#presence = new Presence(notice)
    this.#sweeper = new Sweeper(store, { timers, presence: this.#presence })
    this.#places = new PlaceKeeper(store, timers)
    const hear = (event: StoreEvent) => {
      // How far something is says the next report better: who was away is not told of the past ones.
      const id = event.type === 'progress-told' ? this.#history.lastId : this.#history.add(event)
      this.#forgetHeard(event, this.#fanOut.send(event, id))
      // It may be another process's: then its deadlines are news here.
      this.#sweeper.arm()
    }
    this.#unsubscribe = store.subscribe(hear, () => void this.#tellAnew())
  }

  /** Answers one request that has been checked, by somebody of whom `facts` are known. Throws only what the store throws. */
  async call<Type extends RequestType>(
    request: RequestOf<Type> & { type: Type },
    facts: Facts = {},
  ): Promise<ReplyOf<Type>> {
    const reply = await this.#presence.of(this.#answer(request as Request, facts))
    this.#sweeper.arm()
    return reply as ReplyOf<Type>
  }

  /**
   * A command as the classic paths give it: a release that does not know its fence, a place in line with a ttl of its
   * own. Answered like `call`.
   */
  async command<C extends Acquire | Release>(
    command: C & Address,
    facts: Facts = {},
  ): Promise<Exclude<ReplyTo<C>, Refused> | ErrorBody> {
    const asked: Promise<unknown> =
      command.type === 'acquire' ? this.#acquire(command, facts) : this.#step(command, facts)
    const reply = await this.#presence.of(asked)
    this.#sweeper.arm()
    return reply as Exclude<ReplyTo<C>, Refused> | ErrorBody
  }

  /** Where an ask stands now. */
  standing(ask: AskAt): Promise<Standing> {
    return this.#store.standing(ask)
  }

  /** What one who waited without a revision is told when it comes late; nothing where it has to ask. */
  lateSkip(address: Address, operation: string): Promise<Skip | undefined> {
    return this.#store.lateSkip(address, operation)
  }

  /** An asker with the shared hold id has been told its final answer, with this fence: it is not given again. */
  async heard(ask: AskAt & { readonly fence: number }, facts: Facts = {}): Promise<void> {
    const { operation, node, owner, fence } = ask
    const askers = [{ operation, node, owner, fence }]
    // Where the store is away the answer is given once more, or is forgotten in time.
    await this.#store.step(addressOf(ask), { type: 'heard', askers }, facts).catch(() => {})
  }

  /**
   * Listens from now on. The sink is first told the present state or, where `lastId` is still known, exactly what it
   * has missed; nothing falls in between.
   */
  async listen(scope: Scope, sink: Sink, { lastId, ...options }: ListenOptions = {}): Promise<() => void> {
    // What concerns a session comes to where it was opened or renewed; for all else one has to ask.
    if (scope.of !== 'session') await this.#store.hearAll()
    const missed = lastId === undefined ? undefined : this.#history.since(lastId, scope)
    const catchUp = new CatchUp({
      sink,
      readState: () => this.#state(scope),
      lastId: () => this.#history.lastId,
      isBack: lastId !== undefined,
      timers: this.#timers,
    })
    const listener: Listener = { ...options, scope, sink: catchUp.hear, catchUp }
    const remove = this.#fanOut.add(listener)
    const release = scope.of === 'ask' ? this.#places.keep(scope, options) : undefined
    const stop = () => {
      remove()
      catchUp.stop()
      release?.()
    }
    if (missed) catchUp.tell(missed)
    else {
      const state = await catchUp.tellState().catch((error) => {
        stop()
        throw error
      })
      if (state) this.#forgetTold(listener, state)
    }
    return stop
  }

  counts(): Promise<Counts> {
    return this.#store.counts()
  }

  nowMs(): number {
    return this.#store.nowMs()
  }

  /** Whether the store answers. */
  async isReady(): Promise<boolean> {
    return this.#store.policy().then(
      () => true,
      () => false,
    )
  }

  async close(): Promise<void> {
    this.#unsubscribe()
    this.#presence.end()
    this.#sweeper.stop()
    this.#places.stop()
    await this.#store.close()
  }

  async #answer(request: Request, facts: Facts): Promise<ReplyOf<RequestType>> {
    const store = this.#store
    switch (request.type) {
      case 'acquire':
        return this.#acquire(request, facts)
      case 'release':
      case 'renew':
      case 'cancel':
      case 'revoke':
      case 'progress':
      case 'release-reference':
        return this.#step(request, facts)
      case 'add-reference': {
        const reply = await this.#step(request, facts)
        const isBusy = reply.status === 'refused' && reply.code === 'busy'
        return isBusy ? errorBody('busy', REFERENCES_BUSY) : reply
      }
      case 'drop-node':
        return mayActFor(facts, request.node) ? this.#dropNode(request) : errorBody('forbidden')
      case 'open-session':
        return mayActFor(facts, request.node) ? explained(await store.openSession(request)) : errorBody('forbidden')
      case 'renew-session':
        return explained(await store.renewSession(request.session))
      case 'close-session':
        await store.closeSession(request.session)
        return { status: 'closed' }
      case 'list-places': {
        const places = await store.places(request.session)
        return places ? { status: 'places', places } : explained(SESSION_LOST)
      }
      case 'leave-place': {
        // Knowing a session is being it: no more is asked.
        const { session, operation, node, owner } = request
        return this.#step({ type: 'leave', session, operation, node, owner, ...addressOf(request) }, {})
      }
      case 'get-resource': {
        const view = (await store.read(request)) ?? idleView(addressOf(request))
        return { status: 'resource', resource: view }
      }
      case 'list-waiters':
        return { status: 'waiters', ...(await store.waiters(request, request)) }
      case 'list-resources':
        return { status: 'resources', ...(await store.list(request)) }
      case 'get-policy':
        return { status: 'policy', ...(await store.policy()) }
      case 'apply-policy': {
        const { applied, version, policy } = await store.applyPolicy(request.policy, request.version)
        return applied ? { status: 'policy', version, policy } : errorBody('policy-changed')
      }
    }
  }

  async #acquire(request: Acquire & Address, facts: Facts): Promise<ReplyOf<'acquire'>> {
    const placeTtlMs = Math.max(request.ttlMs, PLACE_TTL_MS)
    const isFull = this.#store.waiting() >= this.#waiterLimit
    return this.#step({ placeTtlMs, ...request }, isFull ? { ...facts, mayQueue: false } : facts)
  }

  async #step<C extends Command>(
    { namespace, resource, ...command }: C & Address,
    facts: Facts,
  ): Promise<Exclude<ReplyTo<C>, Refused> | ErrorBody> {
    const isPlain = facts.actsFor === undefined && facts.mayQueue === undefined
    const reply = await this.#store.step({ namespace, resource }, command as unknown as C, isPlain ? undefined : facts)
    return explained(reply)
  }

  /** A page at a time: other requests go on meanwhile. */
  async #dropNode({ node, namespace }: RequestOf<'drop-node'>): Promise<ReplyOf<'drop-node'>> {
    let resources = 0
    let after: string | undefined
    do {
      const page = await this.#store.list({ namespace, node, after, limit: 500 })
      for (const view of page.resources) {
        await this.#store.step(view, { type: 'drop-node', node })
        resources++
      }
      after = page.next
    } while (after !== undefined)
    return { status: 'dropped', resources }
  }

  /** Whoever shares its hold id with others, and has heard its answer, asks next for something new. */
  #forgetHeard({ namespace, resource }: StoreEvent, heard: readonly HeardAsker[]): void {
    for (let from = 0; from < heard.length; from += HEARD_TOGETHER) {
      const askers = heard.slice(from, from + HEARD_TOGETHER)
      this.#store.step({ namespace, resource }, { type: 'heard', askers }).catch(() => {})
    }
  }

  /** The same for one whose answer was there before it listened. */
  #forgetTold(listener: Listener, state: WireEvent): void {
    const { scope } = listener
    if (scope.of !== 'ask' || scope.hold !== SHARED_HOLD || state.type !== 'state' || state.of !== 'ask') return
    const { standing } = state
    if (standing.status !== 'skip' && standing.status !== 'failed') return
    const { fence } = standing
    if (hasHeard(listener, scope)) void this.heard({ ...scope, fence }, { actsFor: listener.actsFor })
  }

  /** Events may have been missed: everybody is told where things stand. */
  async #tellAnew(): Promise<void> {
    this.#history.forgetAll()
    this.#sweeper.arm()
    const listeners = this.#fanOut.all()
    for (const { catchUp } of listeners) catchUp.hold()
    for (const { catchUp } of listeners) await catchUp.tellAnew()
  }

  async #state(scope: Scope): Promise<WireEvent> {
    const store = this.#store
    switch (scope.of) {
      case 'ask':
        return { type: 'state', of: 'ask', standing: await store.standing(scope) }
      case 'session': {
        const places = await store.places(scope.session)
        const standings = (places ?? []).map(async (place) => ({
          ...place,
          standing: await store.standing({ ...place, hold: SHARED_HOLD }),
        }))
        return { type: 'state', of: 'session', alive: places !== undefined, places: await Promise.all(standings) }
      }
      case 'resource':
        return { type: 'state', of: 'resource', view: (await store.read(scope)) ?? null }
      case 'all':
        return { type: 'state', of: 'all' }
    }
  }
}

/** A refusal of the core or the store with the sentence that belongs to its code. */
function explained<Reply extends { status: string }>(
  reply: Reply | Refused | SessionReply,
): Exclude<Reply, Refused> | ErrorBody {
  if (reply.status === 'refused') return errorBody((reply as Refused).code)
  return reply as Exclude<Reply, Refused>
}

function addressOf({ namespace, resource }: Address): Address {
  return { namespace, resource }
}

function idleView({ namespace, resource }: Address) {
  return { namespace, resource, fence: 0, grants: [], waiters: [], waiting: 0, references: [], kept: [], recent: [] }
}
