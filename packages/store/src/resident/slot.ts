import type { Indexes, Resource } from '@baton-lock/core'
import { nameOf, shardOf } from '../address.ts'
import type { Address } from '../store.ts'
import { resourceFromText, resourceToText } from './resource-text.ts'
import type { Held } from './session-places.ts'

/**
 * One resource: live, as the core takes it, or as JSON text. Text takes about a third of the memory, but a step has to parse it
 * first. Only what is at rest is kept as text.
 */
export class Slot implements Held {
  readonly namespace: string
  readonly resource: string
  /** The part of the fence floors that it belongs to. */
  readonly shard: number
  live: Resource | undefined
  /** Empty while it is live. */
  #text = ''
  /** The places of sessions on this resource. */
  places: Held['places']
  /** The round in which a step last used it: see `Shards`. */
  round = -1
  /** Its index in the heap of deadlines. */
  dueIndex = -1
  /** How many sessions had ended when it was last searched for their places. */
  ends = 0
  /** The number of the last snapshot that has it, or that began before it was created. */
  generation: number

  constructor({ namespace, resource }: Address, generation: number) {
    this.namespace = namespace
    this.resource = resource
    this.shard = shardOf(resource)
    this.generation = generation
  }

  get name(): string {
    return nameOf(this)
  }

  get text(): string {
    return this.live ? resourceToText(this.live) : this.#text
  }

  /** It has grants or waiters. One that is kept as text has none. */
  get isActive(): boolean {
    return this.live !== undefined && (this.live.grants.size > 0 || this.live.waiters.size > 0)
  }

  /** For reading. A change of what this returns is lost if the resource is kept as text: `wake` is for steps. */
  read(): Resource {
    return this.live ?? resourceFromText(this.#text, this)
  }

  wake(): Resource {
    this.live ??= resourceFromText(this.#text, this)
    this.#text = ''
    return this.live
  }

  sleep(): void {
    if (this.live) this.keep(resourceToText(this.live))
  }

  keep(text: string): void {
    this.#text = text
    this.live = undefined
  }
}

/** Nothing but what may stay for long: kept successes and references. All else has a deadline within a minute or so. */
export function isAtRest({ grants, waiters, pauses, recent, answers, released }: Resource): boolean {
  return grants.size + waiters.size + pauses.size + recent.size + answers.size + released.size === 0
}

/** A slot knows its own place in the heap: no map from a million slots to numbers. */
export const dueIndexes: Indexes<Slot> = {
  get: ({ dueIndex }) => (dueIndex < 0 ? undefined : dueIndex),
  set: (slot, index) => {
    slot.dueIndex = index
  },
  delete: (slot) => {
    slot.dueIndex = -1
  },
}
