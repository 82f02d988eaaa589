import type { ResourceStatus } from '../../client/api.ts'
import { isStuck } from '../../protocol/index.ts'

/** Where a resource is. */
export interface Address {
  readonly namespace: string
  readonly resource: string
}

/** No id has a line break in it. */
export function nameOf({ namespace, resource }: Address): string {
  return `${namespace}\n${resource}`
}

/** A resource, and when this was read and when it was last seen to be another, by this machine's monotonic clock. */
export interface Watched {
  readonly name: string
  readonly status: ResourceStatus
  readonly readAtMs: number
  readonly changedAtMs: number
}

/** All resources that are watched, as they were when they were last read. */
export class WatchedResources {
  readonly #resources = new Map<string, Watched>()
  #order: readonly Watched[] | undefined
  #isFirst = true

  get size(): number {
    return this.#resources.size
  }

  get(name: string): Watched | undefined {
    return this.#resources.get(name)
  }

  /** Those that somebody should look at first. */
  inOrder(): readonly Watched[] {
    this.#order ??= [...this.#resources.values()]
      .map(withUrgency)
      .sort(byUrgency)
      .map(({ watched }) => watched)
    return this.#order
  }

  put(status: ResourceStatus, atMs: number): void {
    const name = nameOf(status)
    const before = this.#resources.get(name)
    // A list may have been under way for longer than what was read by itself.
    if (before && before.status.nowMs > status.nowMs) return
    const isChanged = before ? signOf(before.status) !== signOf(status) : !this.#isFirst
    const changedAtMs = isChanged ? atMs : (before?.changedAtMs ?? -Infinity)
    this.#resources.set(name, { name, status, readAtMs: atMs, changedAtMs })
    this.#order = undefined
  }

  remove(name: string): void {
    if (this.#resources.delete(name)) this.#order = undefined
  }

  /** After all were listed: what was not read since that began is there no longer. */
  dropUnread(sinceMs: number): void {
    for (const { name, readAtMs } of this.#resources.values()) if (readAtMs < sinceMs) this.remove(name)
    // What is there at the beginning has not just changed.
    this.#isFirst = false
  }
}

/** Equal as long as nothing has happened that is worth a look: ages, leases and progress go on by themselves. */
function signOf({ grants, waiting, pauses, references, kept }: ResourceStatus): string {
  const held = grants.map(({ fence, claimed }) => `${fence}${claimed ? '' : '?'}`).join()
  return [held, waiting, pauses.length, references.length, kept.length].join(' ')
}

interface Urgency {
  readonly watched: Watched
  readonly rank: number
  /** The oldest first. */
  readonly sinceMs: number
}

function withUrgency(watched: Watched): Urgency {
  const { grants, waiters, waiting, pauses, why = [] } = watched.status
  const heldSinceMs = Math.min(...grants.map(({ sinceMs }) => sinceMs))
  const waitingSinceMs = waiters[0]?.sinceMs ?? heldSinceMs
  if (isStuck(why)) return { watched, rank: 0, sinceMs: waitingSinceMs }
  if (waiting > 0) return { watched, rank: 1, sinceMs: waitingSinceMs }
  if (pauses.length > 0) return { watched, rank: 2, sinceMs: 0 }
  return grants.length > 0 ? { watched, rank: 3, sinceMs: heldSinceMs } : { watched, rank: 4, sinceMs: 0 }
}

function byUrgency(a: Urgency, b: Urgency): number {
  if (a.rank !== b.rank) return a.rank - b.rank
  if (a.sinceMs !== b.sinceMs) return a.sinceMs - b.sinceMs
  return a.watched.name < b.watched.name ? -1 : 1
}

/** Whether a text is in the id of a resource, or in whatever has to do with it. */
export function matches({ status }: Watched, filter: string): boolean {
  if (filter === '') return true
  const sought = filter.toLowerCase()
  const { namespace, resource, grants, waiters, references } = status
  const has = (text: string) => text.toLowerCase().includes(sought)
  return (
    has(resource) ||
    has(namespace) ||
    [...grants, ...waiters].some(({ node, operation }) => has(node) || has(operation)) ||
    references.some(has)
  )
}
