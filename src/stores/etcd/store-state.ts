import type { Timing } from '../timing.ts'
import type { Found, Operation, Outcome, RangeOptions } from './etcd.ts'
import { foundIn } from './found.ts'
import type { Keys } from './keys.ts'
import type { Mailbox } from './mailbox.ts'
import type { Reads } from './reads.ts'

/** What all processes know of the store. */
export interface Meta {
  readonly format: number
  readonly id: string
  readonly policyVersion: number
  /** Fences are above it, whatever the revision is: raised where a store was restored from a copy. */
  readonly floor: number
}

/** Older than this, it is read again: a commit on old news is a commit in vain. */
const FRESH_MS = 1_000

interface LastRead {
  readonly meta: Found
  readonly hearers: Found
  /** As they were at this revision, and with all letters that had come by then. */
  readonly revision: number
  readonly readAtMs: number
}

/** What every opening has beside its resources: the meta key, who hears of everything, and the letters for this process. */
export class StoreState {
  readonly #keys: Keys
  readonly #mailbox: Mailbox
  readonly #timing: Timing
  #last: LastRead | undefined

  constructor(keys: Keys, mailbox: Mailbox, timing: Timing) {
    this.#keys = keys
    this.#mailbox = mailbox
    this.#timing = timing
  }

  /** What was read last; nothing where that is too long ago. */
  get fresh(): LastRead | undefined {
    const last = this.#last
    return last && this.#timing.monoMs() < last.readAtMs + FRESH_MS ? last : undefined
  }

  /** All letters up to this revision were received. */
  get receivedTo(): number {
    return this.#mailbox.readTo
  }

  /** To be read with others. Once that is done, `received` resolves when all letters among it were told. */
  addTo(reads: Reads, isSerializable: boolean): StoreStateReading {
    const meta = reads.add({ key: this.#keys.meta })
    const hearers = reads.add(this.#hearers)
    const received = reads.addOperation(this.#mailbox.reading(isSerializable), (outcome) => {
      const { revision } = reads
      if (!reads.isRecalled) this.#know({ meta: meta(), hearers: hearers(), revision })
      return this.#mailbox.receive(foundIn(outcome), revision)
    })
    return { meta, hearers, received }
  }

  /** To come last in a commit: all of it as it is after that. */
  get inCommit(): readonly Operation[] {
    return [{ range: { key: this.#keys.meta } }, { range: this.#hearers }, this.#mailbox.reading(false)]
  }

  /** What came of the operations of a commit, those last ones among them. */
  committed(outcomes: readonly Outcome[], revision: number): void {
    const [meta, hearers, mail] = outcomes.slice(-3).map((outcome) => foundIn(outcome)) as [Found, Found, Found]
    this.#know({ meta, hearers, revision })
    void this.#mailbox.receive(mail, revision)
  }

  /** What is known of such a key without reading it. */
  find({ key }: RangeOptions): Found | undefined {
    if (key === this.#keys.meta) return this.fresh?.meta
    if (key === this.#keys.hearers.key) return this.fresh?.hearers
    return key === this.#mailbox.key ? NOTHING_NEW : undefined
  }

  get #hearers(): RangeOptions {
    return { ...this.#keys.hearers, keysOnly: true }
  }

  #know(read: Omit<LastRead, 'readAtMs'>): void {
    if (read.revision >= (this.#last?.revision ?? 0)) this.#last = { ...read, readAtMs: this.#timing.monoMs() }
  }
}

const NOTHING_NEW: Found = { kvs: [], count: 0 }

interface StoreStateReading {
  readonly meta: () => Found
  readonly hearers: () => Found
  readonly received: () => Promise<void>
}
