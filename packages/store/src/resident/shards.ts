import { Deadlines, highestNumber, isIdle, type Resource, resourceInMemory } from '@baton-lock/core'
import { addressOf, SHARDS } from '../address.ts'
import type { Address } from '../store.ts'
import { dueIndexes, isAtRest, Slot } from './slot.ts'

/** So many resources, at a thousand bytes each, stay live after the last step that used them. */
const LIVE_LIMIT = 4_096

/** A resource as a snapshot has it. */
export interface StoredResource extends Address {
  /** It has grants or waiters. */
  readonly isActive: boolean
  readonly deadlineMs: number | undefined
  readonly text: string
}

/**
 * All resources that are not idle, by namespace and id, with their deadlines. An idle one is forgotten; it leaves its fence to the
 * fence floor of its shard, which its id alone decides.
 */
export class Shards {
  readonly #slots = new Map<string, Map<string, Slot>>()
  #size = 0
  readonly #deadlines = new Deadlines<Slot>({ indexes: dueIndexes })
  /** No forgotten resource of a shard had a higher fence. */
  readonly #fenceFloors = new Array<number>(SHARDS).fill(0)
  readonly #liveLimit: number
  /**
   * Slots that were used in this round, and those of the round before. Of the latter, those that were not used again and are at
   * rest become text, a few with every step.
   */
  #used: Slot[] = []
  #usedBefore: Slot[] = []
  #round = 0
  /** The number of the last snapshot. */
  generation = 0

  constructor({ liveLimit = LIVE_LIMIT }: { readonly liveLimit?: number | undefined } = {}) {
    this.#liveLimit = liveLimit
  }

  get size(): number {
    return this.#size
  }

  get({ namespace, resource }: Address): Slot | undefined {
    return this.#slots.get(namespace)?.get(resource)
  }

  named(name: string): Slot | undefined {
    return this.get(addressOf(name))
  }

  getOrCreate(address: Address): Slot {
    let slot = this.get(address)
    if (!slot) {
      slot = new Slot(address, this.generation)
      slot.live = resourceInMemory(address.namespace, address.resource)
      this.#add(slot)
    }
    return slot
  }

  /** Adds a resource of a snapshot. */
  place({ isActive, deadlineMs, text, ...address }: StoredResource): void {
    const slot = new Slot(address, this.generation)
    slot.keep(text)
    if (isActive) slot.wake()
    this.#add(slot)
    this.#deadlines.set(slot, deadlineMs)
  }

  /** All of them. The caller may pause between two: one that is there all the time is returned once. */
  *all(): Generator<Slot> {
    for (const slots of this.#slots.values()) yield* slots.values()
  }

  /** Those with grants or waiters. The order is the same whenever the same snapshot and log were read. */
  active(): readonly Slot[] {
    return [...this.all()].filter(({ isActive }) => isActive)
  }

  /** The resource, for a step. After the step, `settle` has to be called. */
  use(slot: Slot): Resource {
    if (slot.round !== this.#round) {
      slot.round = this.#round
      this.#used.push(slot)
    }
    return slot.wake()
  }

  /** After a step: forgets the resource if it is idle, otherwise notes its next deadline. */
  settle(slot: Slot, nextDeadlineMs: number | undefined): void {
    const resource = slot.live!
    if (isIdle(resource)) {
      this.#raiseFenceFloor(slot.shard, highestNumber(resource))
      this.#deadlines.set(slot, undefined)
      this.#remove(slot)
      slot.live = undefined
    } else this.#deadlines.set(slot, nextDeadlineMs)
    this.#letSleep()
  }

  deadlineMs(slot: Slot): number | undefined {
    return this.#deadlines.atMs(slot)
  }

  nextDeadlineMs(): number | undefined {
    return this.#deadlines.nextMs()
  }

  /** The slot whose deadline is first, if it is due. It remains so until it is settled. */
  due(nowMs: number): Slot | undefined {
    return this.#deadlines.due(nowMs)
  }

  /** No fence up to it is granted for this resource. */
  fenceFloorOf({ shard }: Slot): number {
    return this.#fenceFloors[shard]!
  }

  get fenceFloors(): readonly number[] {
    return [...this.#fenceFloors]
  }

  raiseFenceFloors(floors: readonly number[]): void {
    for (const [shard, floor] of floors.entries()) this.#raiseFenceFloor(shard, floor)
  }

  raiseAllFenceFloors(floor: number): void {
    for (let shard = 0; shard < SHARDS; shard++) this.#raiseFenceFloor(shard, floor)
  }

  /** Of all resources, also of those that are forgotten. Parses every one that is kept as text. */
  highestFence(): number {
    let highest = Math.max(...this.#fenceFloors)
    for (const slot of this.all()) highest = Math.max(highest, highestNumber(slot.read()))
    return highest
  }

  #raiseFenceFloor(shard: number, fence: number): void {
    this.#fenceFloors[shard] = Math.max(this.#fenceFloors[shard]!, fence)
  }

  #add(slot: Slot): void {
    let slots = this.#slots.get(slot.namespace)
    if (!slots) {
      slots = new Map()
      this.#slots.set(slot.namespace, slots)
    }
    slots.set(slot.resource, slot)
    this.#size++
  }

  #remove(slot: Slot): void {
    const slots = this.#slots.get(slot.namespace)!
    slots.delete(slot.resource)
    if (slots.size === 0) this.#slots.delete(slot.namespace)
    this.#size--
  }

  /** Two at a time, twice as many as a step uses, so that no step has to wait for many. */
  #letSleep(): void {
    if (this.#used.length >= this.#liveLimit && this.#usedBefore.length === 0) {
      this.#usedBefore = this.#used
      this.#used = []
      this.#round++
    }
    for (let count = 0; count < 2; count++) {
      const slot = this.#usedBefore.pop()
      if (slot === undefined) return
      if (slot.round !== this.#round && slot.live && isAtRest(slot.live)) slot.sleep()
    }
  }
}
