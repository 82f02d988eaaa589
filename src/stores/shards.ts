import { Deadlines, isIdle, newResource, nextDeadlineMs, type Resource, WaitersInMemory } from '../core/index.ts'
import type { Address } from './store.ts'

/** Resources in memory, with what is due when, in shards by the resource id alone: all operations of one meet in one. */
export class Shards {
  readonly #shards: Shard[]

  constructor(count = 32) {
    this.#shards = Array.from({ length: count }, () => ({
      resources: new Map(),
      deadlines: new Deadlines(),
      fenceFloor: 0,
    }))
  }

  get(address: Address): Resource | undefined {
    return this.#shardOf(address.resource).resources.get(nameOf(address))
  }

  getOrCreate(address: Address): Resource {
    const { resources } = this.#shardOf(address.resource)
    const name = nameOf(address)
    let resource = resources.get(name)
    if (!resource) {
      resource = newResource(address.namespace, address.resource, new WaitersInMemory())
      resources.set(name, resource)
    }
    return resource
  }

  fenceFloor(resource: string): number {
    return this.#shardOf(resource).fenceFloor
  }

  /** After a step: an idle resource is forgotten and leaves its fence to its shard, another one is due when it says. */
  settle(resource: Resource): void {
    const shard = this.#shardOf(resource.id)
    if (isIdle(resource)) {
      shard.fenceFloor = Math.max(shard.fenceFloor, resource.fence)
      shard.deadlines.set(resource, undefined)
      shard.resources.delete(nameOf({ namespace: resource.namespace, resource: resource.id }))
    } else shard.deadlines.set(resource, nextDeadlineMs(resource))
  }

  takeDue(nowMs: number): Resource | undefined {
    for (const { deadlines } of this.#shards) {
      const resource = deadlines.takeDue(nowMs)
      if (resource) return resource
    }
    return undefined
  }

  nextDeadlineMs(): number | undefined {
    let nextMs = Infinity
    for (const { deadlines } of this.#shards) nextMs = Math.min(nextMs, deadlines.nextMs() ?? Infinity)
    return nextMs === Infinity ? undefined : nextMs
  }

  get size(): number {
    return this.#shards.reduce((sum, { resources }) => sum + resources.size, 0)
  }

  *all(): Generator<Resource> {
    for (const { resources } of this.#shards) yield* resources.values()
  }

  #shardOf(resource: string): Shard {
    return this.#shards[hashOf(resource) % this.#shards.length]!
  }
}

interface Shard {
  readonly resources: Map<string, Resource>
  readonly deadlines: Deadlines<Resource>
  /** No forgotten resource of this shard had a higher fence. */
  fenceFloor: number
}

/** Quoted, so that no two addresses share a name. */
export function nameOf({ namespace, resource }: Address): string {
  return JSON.stringify([namespace, resource])
}

/** FNV-1a over the UTF-16 units. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  return hash >>> 0
}
