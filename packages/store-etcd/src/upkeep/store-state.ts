import { UnknownFormat } from '@baton-lock/store/store'
import type { Timing } from '@baton-lock/store/timing'
import type { Found, Operation, Outcome, RangeOptions } from '../etcd.ts'
import type { Keys } from '../keys.ts'
import type { Mailbox } from '../messages/mailbox.ts'
import { foundIn } from '../transaction/found.ts'
import type { Reads } from '../transaction/reads.ts'

/** What all processes know of the store. */
export interface Meta {
  readonly format: number
  readonly id: string
  readonly policyVersion: number
  /** Fences are above it, whatever the revision is: raised where a store was restored from a copy. */
  readonly floor: number
}

/** Of all keys, and of what stands in them. A store in any other format is refused. */
export const FORMAT = 1

/** The meta key of a store, which nobody has opened yet. */
export function knownMeta(value: string, { prefix }: Keys): Meta {
  const meta: Meta = JSON.parse(value)
  if (meta.format === FORMAT) return meta
  throw new UnknownFormat(`the store under ${prefix}`, { found: meta.format, known: FORMAT })
}

/** Older than this, it is read again: a commit on old news is a commit in vain, and a hearer that has gone is not noticed otherwise. */
const FRESH_MS = 1_000
/** A commit reads it along before it is that old. */
const SOON_MS = 500

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

  /**
   * What a commit of these operations reads: whether letters have come and, now and then, all else as it is after that. A commit that was made
   * has compared the meta key and the hearers, so that most often these need not be read: they are as they were.
   */
  inCommit(operations: readonly Operation[]): CommitReading {
    const isChanged = operations.some((each) => 'put' in each && each.put.key === this.#keys.meta)
    const { listening } = this.#mailbox
    if (!isChanged && this.#last && this.#timing.monoMs() < this.#last.readAtMs + SOON_MS)
      return {
        operations: [listening],
        committed: ([bell], revision) => {
          const asOf = this.#receivedAt(bell, revision)
          if (this.#last && this.#last.revision < asOf) this.#last = { ...this.#last, revision: asOf }
        },
      }
    return {
      operations: [{ range: { key: this.#keys.meta } }, { range: this.#hearers }, listening],
      committed: ([meta, hearers, bell], revision) => {
        this.#know({ meta: foundIn(meta), hearers: foundIn(hearers), revision: this.#receivedAt(bell, revision) })
      },
    }
  }

  /** What is known of such a key without reading it. */
  find({ key }: RangeOptions): Found | undefined {
    if (key === this.#keys.meta) return this.fresh?.meta
    if (key === this.#keys.hearers.key) return this.fresh?.hearers
    return key === this.#mailbox.key ? NOTHING_NEW : undefined
  }

  /** Up to which revision letters were received, as far as a commit knows. What it has found is of a later one then, which the next one compares. */
  #receivedAt(bell: Outcome, revision: number): number {
    this.#mailbox.heard(foundIn(bell), revision)
    return Math.min(revision, this.#mailbox.readTo)
  }

  get #hearers(): RangeOptions {
    return { ...this.#keys.hearers, keysOnly: true }
  }

  #know(read: Omit<LastRead, 'readAtMs'>): void {
    if (read.revision >= (this.#last?.revision ?? 0)) this.#last = { ...read, readAtMs: this.#timing.monoMs() }
  }
}

const NOTHING_NEW: Found = { kvs: [], count: 0 }

/** What a commit reads along. */
export interface CommitReading {
  /** To come after all that it changes. */
  readonly operations: readonly Operation[]
  /** It was made: what came of these operations. */
  readonly committed: (outcomes: readonly Outcome[], revision: number) => void
}

interface StoreStateReading {
  readonly meta: () => Found
  readonly hearers: () => Found
  readonly received: () => Promise<void>
}
