import type { PastGrant } from '../../protocol/index.ts'
import type { Address, StoreEvent } from '../../stores/store.ts'
import { Past } from './past.ts'

/** So many grants of one resource are known, and so many in all; fewer where their names and errors are long. */
const OF_ONE = 50
const OF_ALL = 20_000

/**
 * So many grants that nobody has waited for are taken up in a second. A server that makes tens of thousands would forget them again
 * within a second, with all that had been known before, and would do little else. Hand-overs are always taken up.
 */
const AT_ONCE_A_SECOND = 2_000

type EventOf<Type extends StoreEvent['type']> = Extract<StoreEvent, { type: Type }>

/** The last grants of one resource, oldest first, among those that were touched before and after it. */
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

/** The last grants of resources. Those that nothing happens to go first. What has gone is used again: this is fed with every event. */
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
    // The end of the one before was missed: there is one grant of a key at a time.
    const before = timeline.last(event.operation)
    if (before && !before.hasEnded) before.end(event.atMs)
    const { operation, asker, fence, attempt, handOver, waitedMs } = event
    const grant = this.#freeGrants.pop() ?? new Past()
    const { node, owner } = asker
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

  /** So many were told that the success with this fence is theirs. */
  skipped(address: Address, fence: number, count: number): void {
    const grant = fence === 0 ? undefined : this.#find(address)?.find(fence)
    if (grant) grant.skips += count
  }

  /** Ends may have been missed: what is not known to have ended is not shown, until it has. */
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

  /** One whose beginning was not seen, or not taken up. */
  #addEnded(event: EventOf<'ended'>): Past | undefined {
    if (this.#isFlooded(event.atMs, 0)) return undefined
    const timeline = this.#touched(event)
    const { operation, node, owner, fence, attempt, heldMs = 0 } = event
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
    // It may be long, and be kept for nothing.
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

  /** Whether there were as many in this second as are taken up; so many more are counted. */
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
