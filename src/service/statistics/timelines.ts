import type { PastGrant } from '../../protocol/index.ts'
import type { Address, StoreEvent } from '../../stores/store.ts'

/** So many grants of one resource are known, and so many in all; fewer where their names and errors are long. */
const OF_ONE = 50
const OF_ALL = 20_000
const LONG = 256

type EventOf<Type extends StoreEvent['type']> = Extract<StoreEvent, { type: Type }>

/** A grant as it begins. */
type Begun = Pick<
  PastGrant,
  'operation' | 'node' | 'owner' | 'fence' | 'attempt' | 'grantedAtMs' | 'handOver' | 'waitedMs'
>

/** A grant, and what has become of it so far. Of one shape, whatever that is. */
class Past implements PastGrant {
  readonly operation: string
  readonly node: string
  readonly owner: string
  readonly fence: number
  readonly attempt: number
  readonly grantedAtMs: number
  readonly handOver: boolean
  readonly waitedMs: number | undefined
  claimedAtMs: number | undefined = undefined
  endedAtMs: number | undefined = undefined
  outcome: PastGrant['outcome'] = undefined
  error: string | undefined = undefined
  skips = 0

  constructor(begun: Begun) {
    this.operation = begun.operation
    this.node = begun.node
    this.owner = begun.owner
    this.fence = begun.fence
    this.attempt = begun.attempt
    this.grantedAtMs = begun.grantedAtMs
    this.handOver = begun.handOver
    this.waitedMs = begun.waitedMs
  }

  get weight(): number {
    const names = this.operation.length + this.node.length + this.owner.length
    return 1 + Math.floor(names / LONG) + Math.floor((this.error?.length ?? 0) / LONG)
  }
}

/** The last grants of one resource, oldest first, among those that were touched before and after it. */
class Timeline implements Address {
  readonly namespace: string
  readonly resource: string
  readonly grants: Past[] = []
  older: Timeline | undefined
  newer: Timeline | undefined

  constructor({ namespace, resource }: Address) {
    this.namespace = namespace
    this.resource = resource
  }

  find(fence: number): Past | undefined {
    for (let index = this.grants.length - 1; index >= 0; index--)
      if (this.grants[index]!.fence === fence) return this.grants[index]
    return undefined
  }

  last(operation: string): Past | undefined {
    for (let index = this.grants.length - 1; index >= 0; index--)
      if (this.grants[index]!.operation === operation) return this.grants[index]
    return undefined
  }
}

/** The last grants of resources. Those that nothing happens to go first. */
export class Timelines {
  readonly #all = new Map<string, Map<string, Timeline>>()
  #oldest: Timeline | undefined
  #newest: Timeline | undefined
  #weight = 0

  of({ namespace, resource }: Address): readonly PastGrant[] {
    return (
      this.#all
        .get(namespace)
        ?.get(resource)
        ?.grants.map((grant) => ({ ...grant })) ?? []
    )
  }

  granted(event: EventOf<'granted'>): void {
    const timeline = this.#touched(event)
    // The end of the one before was missed: there is one grant of a key at a time.
    const before = timeline.last(event.operation)
    if (before && before.endedAtMs === undefined) before.endedAtMs = event.atMs
    const { operation, asker, fence, attempt, handOver, waitedMs, atMs: grantedAtMs } = event
    const { node, owner } = asker
    this.#add(timeline, new Past({ operation, node, owner, fence, attempt, grantedAtMs, handOver, waitedMs }))
  }

  claimed(event: EventOf<'claimed'>): void {
    const grant = this.#find(event)?.find(event.fence)
    if (grant) grant.claimedAtMs = event.atMs
  }

  ended(event: EventOf<'ended'>): void {
    const timeline = this.#touched(event)
    const grant = timeline.find(event.fence) ?? this.#addEnded(timeline, event)
    const { outcome } = event
    grant.endedAtMs = event.atMs
    grant.outcome = outcome.outcome
    if (!('error' in outcome)) return
    grant.error = outcome.error
    this.#weight += Math.floor(outcome.error.length / LONG)
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
      const ended = grants.filter(({ endedAtMs }) => endedAtMs !== undefined)
      for (const grant of grants) if (grant.endedAtMs === undefined) this.#weight -= grant.weight
      grants.splice(0, Infinity, ...ended)
      if (ended.length === 0) this.#forget(timeline)
      timeline = newer
    }
  }

  /** One whose beginning was not seen. */
  #addEnded(timeline: Timeline, event: EventOf<'ended'>): Past {
    const { operation, node, owner, fence, attempt, heldMs = 0 } = event
    const begun = { operation, node, owner, fence, attempt, grantedAtMs: event.atMs - heldMs, handOver: attempt > 1 }
    return this.#add(timeline, new Past(begun))
  }

  #add({ grants }: Timeline, grant: Past): Past {
    const place = grants.length === 0 || grants.at(-1)!.fence < grant.fence ? grants.length : placeOf(grants, grant)
    if (place === grants.length) grants.push(grant)
    else grants.splice(place, 0, grant)
    this.#weight += grant.weight
    if (grants.length > OF_ONE) this.#weight -= grants.shift()!.weight
    this.#makeRoom()
    return grant
  }

  #makeRoom(): void {
    while (this.#weight > OF_ALL && this.#oldest && this.#oldest !== this.#newest) this.#forget(this.#oldest)
  }

  #forget(timeline: Timeline): void {
    for (const { weight } of timeline.grants) this.#weight -= weight
    this.#unlink(timeline)
    const inNamespace = this.#all.get(timeline.namespace)!
    inNamespace.delete(timeline.resource)
    if (inNamespace.size === 0) this.#all.delete(timeline.namespace)
  }

  #find({ namespace, resource }: Address): Timeline | undefined {
    return this.#all.get(namespace)?.get(resource)
  }

  #touched(address: Address): Timeline {
    if (this.#newest && isSame(this.#newest, address)) return this.#newest
    let timeline = this.#find(address)
    if (timeline) this.#unlink(timeline)
    else {
      timeline = new Timeline(address)
      const inNamespace = this.#all.get(address.namespace)
      if (inNamespace) inNamespace.set(address.resource, timeline)
      else this.#all.set(address.namespace, new Map([[address.resource, timeline]]))
    }
    timeline.older = this.#newest
    timeline.newer = undefined
    if (this.#newest) this.#newest.newer = timeline
    this.#newest = timeline
    this.#oldest ??= timeline
    return timeline
  }

  #unlink({ older, newer }: Timeline): void {
    if (older) older.newer = newer
    else this.#oldest = newer
    if (newer) newer.older = older
    else this.#newest = older
  }
}

function isSame(one: Address, other: Address): boolean {
  return one.resource === other.resource && one.namespace === other.namespace
}

function placeOf(grants: readonly Past[], { fence }: Past): number {
  return grants.findLastIndex((each) => each.fence < fence) + 1
}
