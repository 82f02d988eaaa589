import { Deadlines, isIdle, type Resource, resourceInMemory } from '../../core/index.ts'
import { addressOf, hashOf, nameOf } from '../address.ts'
import type { Address } from '../store.ts'
import { ColdRecords } from './cold-records.ts'
import { dueIndexes, Slot, TextPages } from './slot.ts'

/** How resources are kept that nobody has touched for a while: as text, which costs a fraction of a live one. */
export interface Dormancy {
  /** About how many of those touched last stay live. */
  readonly liveLimit: number
  toText(resource: Resource): string
  fromText(text: string, address: Address): Resource
}

/**
 * Resources in memory. What is due when, and fence floors, are kept in shards by the resource id alone: all operations of one
 * resource meet in one shard.
 */
export class Shards {
  /** By namespace, then by the resource id. */
  readonly #slots = new Map<string, Map<string, Slot>>()
  #size = 0
  #placed = 0
  readonly #shards: readonly Shard[]
  /** When something of each shard is due first: asked after every step, so all of these stand together. */
  readonly #nextMs: Float64Array
  readonly #dormancy: Dormancy | undefined
  readonly #texts = new TextPages()
  /** Those that nobody has asked for yet. */
  readonly cold = new ColdRecords()
  /** How many of the cold ones have been written down in this generation. */
  coldWritten = 0
  /** Those touched in this round, and those of the round before that may fall asleep. */
  #awake: Slot[] = []
  #drowsy: Slot[] = []
  #round = 0
  /** What new slots are born into. */
  generation = 0

  constructor({ count = 32, dormancy }: { readonly count?: number; readonly dormancy?: Dormancy } = {}) {
    this.#dormancy = dormancy
    this.#shards = Array.from({ length: count }, () => ({
      deadlines: new Deadlines({ indexes: dueIndexes }),
      fenceFloor: 0,
    }))
    this.#nextMs = new Float64Array(count).fill(Infinity)
  }

  get(address: Address): Slot | undefined {
    return this.#slots.get(address.namespace)?.get(address.resource) ?? this.#fromCold(this.#findCold(address))
  }

  getOrCreate(address: Address): Slot {
    let slot = this.get(address)
    if (!slot) {
      slot = new Slot(address, this.generation)
      slot.live = resourceInMemory(address.namespace, address.resource)
      this.#put(slot, hashOf(address.resource))
    }
    return slot
  }

  /** Puts a resource that was read from elsewhere to its place, as text. */
  place({ slot, hash, deadlineMs }: { slot: Slot; hash: number; deadlineMs: number | undefined }): void {
    this.#put(slot, hash)
    this.#setDeadline(slot, deadlineMs)
  }

  /** The resource for a look at it, not to be changed. */
  resourceOf(slot: Slot): Resource {
    return slot.live ?? this.#dormancy!.fromText(slot.text, slot)
  }

  /** The resource for a step. Not to be kept beyond that: it may fall asleep. */
  wake(slot: Slot): Resource {
    if (this.#dormancy === undefined) return slot.live!
    if (slot.live === undefined) {
      slot.setLive(this.#dormancy.fromText(slot.text, slot))
    }
    if (slot.round !== this.#round) {
      slot.round = this.#round
      this.#awake.push(slot)
    }
    return slot.live!
  }

  /** Lets one fall asleep at once. */
  putToSleep(slot: Slot): void {
    if (this.#dormancy && slot.live) this.#texts.put(slot, this.#dormancy.toText(slot.live))
  }

  textOf(slot: Slot): string {
    return slot.live ? this.#dormancy!.toText(slot.live) : slot.text
  }

  deadlineMs(slot: Slot): number | undefined {
    return this.#shards[slot.shard]!.deadlines.atMs(slot)
  }

  fenceFloor(resource: string): number {
    return this.#shards[this.#shardOf(hashOf(resource))]!.fenceFloor
  }

  fenceFloorOf(slot: Slot): number {
    return this.#shards[slot.shard]!.fenceFloor
  }

  get fenceFloors(): readonly number[] {
    return this.#shards.map(({ fenceFloor }) => fenceFloor)
  }

  raiseFenceFloors(floors: readonly number[]): void {
    for (const [index, shard] of this.#shards.entries())
      shard.fenceFloor = Math.max(shard.fenceFloor, floors[index] ?? 0)
  }

  raiseAllFenceFloors(floor: number): void {
    for (const shard of this.#shards) shard.fenceFloor = Math.max(shard.fenceFloor, floor)
  }

  /** Of all resources, also of those that are forgotten. Looks at every one of them. */
  highestFence(): number {
    let highest = Math.max(...this.fenceFloors)
    for (const slot of this.all()) highest = Math.max(highest, this.resourceOf(slot).fence)
    return highest
  }

  /** After a step: an idle resource is forgotten and leaves its fence to its shard, another one is due when it says. */
  settle(slot: Slot, nextDeadlineMs: number | undefined): void {
    const resource = slot.live!
    slot.isActive = resource.grants.size > 0 || resource.waiters.size > 0
    slot.runsOut = slot.isActive && runsOut(resource)
    if (!slot.isActive && isIdle(resource)) {
      const shard = this.#shards[slot.shard]!
      shard.fenceFloor = Math.max(shard.fenceFloor, resource.fence)
      this.#setDeadline(slot, undefined)
      this.#remove(slot)
      slot.live = undefined
    } else this.#setDeadline(slot, nextDeadlineMs)
    if (this.#dormancy) this.#fallAsleep(this.#dormancy.liveLimit)
  }

  /** One that is due; it stays so until it is settled. */
  due(nowMs: number): Slot | undefined {
    if ((this.cold.nextMs() ?? Infinity) <= nowMs) return this.#fromCold(this.cold.first())
    const index = this.#nextMs.findIndex((nextMs) => nextMs <= nowMs)
    return this.#shards[index]?.deadlines.due(nowMs)
  }

  nextDeadlineMs(): number | undefined {
    let nextMs = this.cold.nextMs() ?? Infinity
    for (let index = 0; index < this.#nextMs.length; index++) nextMs = Math.min(nextMs, this.#nextMs[index]!)
    return nextMs === Infinity ? undefined : nextMs
  }

  get size(): number {
    return this.#size + this.cold.size
  }

  /** For a look at one, which stays where it is. */
  peek(name: string): Slot | undefined {
    const { namespace, resource } = addressOf(name)
    const slot = this.#slots.get(namespace)?.get(resource)
    if (slot) return slot
    const index = this.cold.find(name, hashOf(resource))
    return index === undefined ? undefined : this.cold.slotOf(index, this.generation)
  }

  /** May be left and taken up again while things change: what is there all the time is met once. Without the cold ones. */
  *slots(): Generator<Slot> {
    for (const slots of this.#slots.values()) yield* slots.values()
  }

  /**
   * Those with grants or waiters, shard by shard, in the order in which they were put there. What becomes idle leaves its fence
   * to its shard, so the order matters where something is done to all of them: it is the same whenever the same is read.
   */
  active(): readonly Slot[] {
    const active = [...this.slots()].filter(({ isActive }) => isActive)
    return active.sort((a, b) => a.shard - b.shard || a.order - b.order)
  }

  /** The cold ones too: one that somebody asks for meanwhile may be met twice. */
  *all(): Generator<Slot> {
    for (let index = 0; index < this.cold.count; index++) {
      if (this.cold.isThere(index)) yield this.cold.slotOf(index, this.generation)
    }
    yield* this.slots()
  }

  #setDeadline(slot: Slot, atMs: number | undefined): void {
    const { deadlines } = this.#shards[slot.shard]!
    deadlines.set(slot, atMs)
    this.#nextMs[slot.shard] = deadlines.nextMs() ?? Infinity
  }

  #put(slot: Slot, hash: number): void {
    slot.shard = this.#shardOf(hash)
    slot.order = ++this.#placed
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

  #findCold(address: Address): number | undefined {
    return this.cold.size === 0 ? undefined : this.cold.find(nameOf(address), hashOf(address.resource))
  }

  #fromCold(index: number | undefined): Slot | undefined {
    if (index === undefined) return undefined
    const slot = this.cold.slotOf(index, this.generation - (index < this.coldWritten ? 0 : 1))
    const { hash } = this.cold.recordOf(index)
    this.place({ slot, hash, deadlineMs: this.cold.deadlineMs(index) })
    this.cold.remove(index)
    return slot
  }

  /** A few with every step, faster than others are woken, so that no step waits for many. */
  #fallAsleep(liveLimit: number): void {
    if (this.#awake.length >= liveLimit && this.#drowsy.length === 0) {
      this.#drowsy = this.#awake
      this.#awake = []
      this.#round++
    }
    for (let count = 0; count < 2; count++) {
      const slot = this.#drowsy.pop()
      if (slot === undefined) return
      if (slot.round !== this.#round) this.putToSleep(slot)
    }
  }

  #shardOf(hash: number): number {
    return hash % this.#shards.length
  }
}

interface Shard {
  readonly deadlines: Deadlines<Slot>
  /** No forgotten resource of this shard had a higher fence. */
  fenceFloor: number
}

/** It has something that could run out and is no session. */
function runsOut({ grants, waiters }: Resource): boolean {
  if (waiters.size > 0) return true
  for (const { claimByMs, holds } of grants.values()) {
    if (claimByMs !== undefined || holds.nextMs() < Infinity) return true
  }
  return false
}
