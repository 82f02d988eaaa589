import type { Event } from '@baton-lock/core'
import type { PastGrant } from '@baton-lock/protocol'
import type { Address } from '@baton-lock/store/store'

/** How many grants of one resource are kept, and of all resources; fewer if their names and errors are long. */
const OF_ONE = 50
const OF_ALL = 20_000

/**
 * How many grants without a wait are kept per second. A busier server would drop all older grants within a second and
 * do little else. Hand-overs are always kept.
 */
const AT_ONCE_A_SECOND = 2_000

type EventOf<Type extends Event['type']> = Extract<Event, { type: Type }>

/** The last grants of one resource, oldest first, as a node of a list that is ordered by the last change. */
class Timeline {
  namespace = ''
  resource = ''
  readonly grants: Past[] = []
  older: Timeline | undefined
  newer: Timeline | undefined

  find(fence: number): Past | undefined {
    let index = this.grants.length - 1
    while (index >= 0 && this.grants[index]!.fence > fence) index--
    const grant = this.grants[index]
    return grant?.fence === fence ? grant : undefined
  }

  last(operation: string): Past | undefined {
    for (let index = this.grants.length - 1; index >= 0; index--)
      if (this.grants[index]!.operation === operation) return this.grants[index]
    return undefined
  }
}

/**
 * The last grants of all resources. Resources without recent changes are dropped first. Dropped objects are reused,
 * as this gets every event.
 */
export class Timelines {
  readonly #all = new Map<string, Map<string, Timeline>>()
  #oldest: Timeline | undefined
  #newest: Timeline | undefined
  #weight = 0
  readonly #freeGrants: Past[] = []
  readonly #freeTimelines: Timeline[] = []
  #second = 0
  #atOnceInSecond = 0

  of(address: Address): readonly PastGrant[] {
    return this.#find(address)?.grants.map(({ shown }) => shown) ?? []
  }

  granted(event: EventOf<'granted'>): void {
    if (!event.handOver && this.#isFlooded(event.atMs, 1)) return
    const timeline = this.#touched(event)
    // The end of the grant before was missed, as a key has one grant at a time.
    const before = timeline.last(event.operation)
    if (before && !before.hasEnded) before.end(event.atMs)
    const { operation, node, owner, fence, attempt, handOver, waitedMs } = event
    const grant = this.#freeGrants.pop() ?? new Past()
    grant.begin({ operation, node, owner, fence, attempt, grantedAtMs: event.atMs, handOver, waitedMs })
    this.#add(timeline, grant)
  }

  claimed(event: EventOf<'claimed'>): void {
    const grant = this.#find(event)?.find(event.fence)
    if (grant) grant.claimedAtMs = event.atMs
  }

  ended(event: EventOf<'ended'>): void {
    const { atMs, fence, outcome } = event
    const grant = this.#find(event)?.find(fence) ?? this.#addEnded(event)
    if (!grant) return
    this.#touched(event)
    const { weight } = grant
    grant.end(atMs, outcome.outcome, 'error' in outcome ? outcome.error : undefined)
    this.#weight += grant.weight - weight
    this.#makeRoom()
  }

  /** Counts the waiters that skipped on the success with this fence. */
  skipped(address: Address, fence: number, count: number): void {
    const grant = fence === 0 ? undefined : this.#find(address)?.find(fence)
    if (grant) grant.skips += count
  }

  /** Ends may have been missed, so grants without a known end are not shown until their end is seen. */
  forgetOpen(): void {
    for (let timeline = this.#oldest; timeline; ) {
      const { grants, newer } = timeline
      const ended = grants.filter(({ hasEnded }) => hasEnded)
      for (const grant of grants) if (!grant.hasEnded) this.#weight -= grant.weight
      grants.splice(0, Infinity, ...ended)
      if (ended.length === 0) this.#forget(timeline)
      timeline = newer
    }
  }

  /** Adds a grant whose beginning was not seen, or not kept. */
  #addEnded(event: EventOf<'ended'>): Past | undefined {
    if (this.#isFlooded(event.atMs, 0)) return undefined
    const timeline = this.#touched(event)
    const { operation, node, owner, fence, attempt, heldMs } = event
    const grant = new Past()
    const grantedAtMs = event.atMs - heldMs
    grant.begin({ operation, node, owner, fence, attempt, grantedAtMs, handOver: attempt > 1 })
    this.#add(timeline, grant)
    return grant
  }

  #add({ namespace, resource, grants }: Timeline, grant: Past): void {
    grant.weigh(namespace, resource)
    if (grants.length === 0 || grants[grants.length - 1]!.fence < grant.fence) grants.push(grant)
    else grants.splice(grants.findLastIndex(({ fence }) => fence < grant.fence) + 1, 0, grant)
    this.#weight += grant.weight
    if (grants.length > OF_ONE) this.#free(grants.shift()!)
    this.#makeRoom()
  }

  #free(grant: Past): void {
    this.#weight -= grant.weight
    // An error may be long.
    grant.error = undefined
    this.#freeGrants.push(grant)
  }

  #makeRoom(): void {
    while (this.#weight > OF_ALL && this.#oldest && this.#oldest !== this.#newest) this.#forget(this.#oldest)
  }

  #forget(timeline: Timeline): void {
    for (const grant of timeline.grants) this.#free(grant)
    timeline.grants.length = 0
    this.#unlink(timeline)
    const inNamespace = this.#all.get(timeline.namespace)!
    inNamespace.delete(timeline.resource)
    if (inNamespace.size === 0) this.#all.delete(timeline.namespace)
    this.#freeTimelines.push(timeline)
  }

  /** Whether enough grants were kept in this second; counts `more`. */
  #isFlooded(atMs: number, more: number): boolean {
    const second = Math.floor(atMs / 1_000)
    if (second !== this.#second) this.#atOnceInSecond = 0
    this.#second = second
    this.#atOnceInSecond += more
    return this.#atOnceInSecond > AT_ONCE_A_SECOND
  }

  #find({ namespace, resource }: Address): Timeline | undefined {
    const newest = this.#newest
    if (newest?.resource === resource && newest.namespace === namespace) return newest
    return this.#all.get(namespace)?.get(resource)
  }

  #touched(address: Address): Timeline {
    const found = this.#find(address)
    if (found && found === this.#newest) return found
    if (found) this.#unlink(found)
    const timeline = found ?? this.#newTimeline(address)
    timeline.older = this.#newest
    timeline.newer = undefined
    if (this.#newest) this.#newest.newer = timeline
    this.#newest = timeline
    this.#oldest ??= timeline
    return timeline
  }

  #newTimeline({ namespace, resource }: Address): Timeline {
    const timeline = this.#freeTimelines.pop() ?? new Timeline()
    timeline.namespace = namespace
    timeline.resource = resource
    const inNamespace = this.#all.get(namespace)
    if (inNamespace) inNamespace.set(resource, timeline)
    else this.#all.set(namespace, new Map([[resource, timeline]]))
    return timeline
  }

  #unlink({ older, newer }: Timeline): void {
    if (older) older.newer = newer
    else this.#oldest = newer
    if (newer) newer.older = older
    else this.#newest = older
  }
}

/** The beginning of a grant. */
type Begun = Pick<
  PastGrant,
  'operation' | 'node' | 'owner' | 'fence' | 'attempt' | 'grantedAtMs' | 'handOver' | 'waitedMs'
>

/** An unknown time or duration. A number, so that the field always holds one. */
const UNKNOWN = Number.NaN

/** Names and errors of this length count as one more grant. */
const LONG = 256

/** A grant and its end. Objects are reused, as a server makes one for every grant. */
class Past {
  operation = ''
  node = ''
  owner = ''
  fence = 0
  attempt = 0
  handOver = false
  grantedAtMs = UNKNOWN
  claimedAtMs = UNKNOWN
  waitedMs = UNKNOWN
  skips = 0
  outcome: PastGrant['outcome'] = undefined
  error: string | undefined = undefined
  /** Its share of the limit for all grants. */
  weight = 0
  #endedAtMs = UNKNOWN

  begin(begun: Begun): void {
    const { operation, node, owner } = begun
    this.operation = operation
    this.node = node
    this.owner = owner
    this.fence = begun.fence
    this.attempt = begun.attempt
    this.handOver = begun.handOver
    this.grantedAtMs = begun.grantedAtMs
    this.claimedAtMs = UNKNOWN
    this.waitedMs = begun.waitedMs ?? UNKNOWN
    this.skips = 0
    this.outcome = undefined
    this.error = undefined
    this.#endedAtMs = UNKNOWN
  }

  /** Includes the names of its resource, which are kept with it. */
  weigh(namespace: string, resource: string): void {
    const { operation, node, owner } = this
    const length = namespace.length + resource.length + operation.length + node.length + owner.length
    this.weight = 1 + Math.floor(length / LONG)
  }

  get hasEnded(): boolean {
    return !Number.isNaN(this.#endedAtMs)
  }

  /** Without an outcome, the end is unknown. */
  end(atMs: number, outcome?: PastGrant['outcome'], error?: string): void {
    this.#endedAtMs = atMs
    this.outcome = outcome
    this.error = error
    if (error !== undefined) this.weight += Math.floor(error.length / LONG)
  }

  get shown(): PastGrant {
    const { operation, node, owner, fence, attempt, grantedAtMs, outcome, error, handOver, skips } = this
    return {
      ...{ operation, node, owner, fence, attempt, grantedAtMs },
      ...(!Number.isNaN(this.claimedAtMs) && { claimedAtMs: this.claimedAtMs }),
      ...(this.hasEnded && { endedAtMs: this.#endedAtMs }),
      ...(outcome !== undefined && { outcome }),
      ...(error !== undefined && { error }),
      handOver,
      ...(!Number.isNaN(this.waitedMs) && { waitedMs: this.waitedMs }),
      skips,
    }
  }
}
