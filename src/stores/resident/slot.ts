import type { Indexes, Resource } from '../../core/index.ts'
import { addressOf, nameOf } from '../address.ts'
import type { Address } from '../store.ts'
import type { Held } from './session-places.ts'

const nothing: Buffer = Buffer.alloc(0)

/** One resource as it is kept: live, or as text. */
export class Slot implements Held {
  readonly namespace: string
  readonly resource: string
  live: Resource | undefined
  /** What hangs off sessions here. */
  places: Held['places']
  /** Where its text stands while it is not live: a page that it shares with others, and which bytes of it. */
  page: Buffer = nothing
  from = 0
  to = 0
  /** It has grants or waiters. */
  isActive = false
  /** It has a lease that is no session's, a grant to be claimed, or waiters: a restart gives these their time anew. */
  runsOut = false
  /** In which round of falling asleep it was touched last. */
  round = -1
  /** The shard that it belongs to, and its number among all that were ever put there. */
  shard = 0
  order = 0
  /** Where it stands among the deadlines of its shard. */
  dueIndex = -1
  /** How many sessions had ended when it was last looked at for their places. */
  ends = 0
  /** Written down since this generation of the store began, or newer than that. */
  generation: number

  constructor({ namespace, resource }: Address, generation: number) {
    this.namespace = namespace
    this.resource = resource
    this.generation = generation
  }

  static named(name: string, generation: number): Slot {
    return new Slot(addressOf(name), generation)
  }

  get name(): string {
    return nameOf(this)
  }

  get text(): string {
    return this.page.toString('utf8', this.from, this.to)
  }

  setText(page: Buffer, from: number, to: number): void {
    this.live = undefined
    this.page = page
    this.from = from
    this.to = to
  }

  setLive(resource: Resource): void {
    this.live = resource
    this.page = nothing
  }
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

const PAGE = 256 * 1024

/** Texts outside of the JavaScript heap, where a million of them cost the garbage collector nothing. */
export class TextPages {
  #page = nothing
  #size = 0

  put(slot: Slot, text: string): void {
    // Three bytes a character at most.
    const most = 3 * text.length
    if (this.#size + most > this.#page.length) {
      this.#page = Buffer.allocUnsafeSlow(Math.max(PAGE, most))
      this.#size = 0
    }
    const to = this.#size + this.#page.write(text, this.#size)
    slot.setText(this.#page, this.#size, to)
    this.#size = to
  }
}
