import type { Receiver } from '@baton-lock/store/remote'
import type { Timing } from '@baton-lock/store/timing'
import type { Copies } from '../cache/copies.ts'
import type { Etcd, Found, KeyValue, Operation, WatchEvent } from '../etcd.ts'
import type { Keys } from '../keys.ts'
import { foundIn } from '../transaction/found.ts'
import type { LargeValues } from '../transaction/large-values.ts'
import { letterIn } from './letter-value.ts'

interface MailboxOptions {
  readonly etcd: Etcd
  readonly keys: Keys
  readonly timing: Timing
  readonly process: string
  readonly large: LargeValues
  readonly copies: Copies
}

/** Without a sound for so long, it is looked at all the same: a watch is a hint. */
const LOOK_MS = 1_000
const AGAIN_MS = 300
/** What was read is deleted when so much time has passed, together. */
const CLEAR_MS = 500
const CLEAR_AT_ONCE = 1_000

/**
 * How letters reach this process: as keys of its own, written in the transaction that they tell of, and deleted when they
 * were read. With them a key is put that is always the same, the bell, and etcd counts how often. So what a watch brings is told at once
 * where it is the next by that count; where it is not, the watch has lost something, and all that has come is read, in the order of the commits.
 */
export class Mailbox {
  readonly #options: MailboxOptions
  receiver: Receiver | undefined
  /** All letters up to this revision were received. */
  #readTo = 0
  /** Resolves when all that was read is told: a large letter is read in parts, and those after it wait. */
  #told = Promise.resolve()
  #isBehind = false
  #toDelete: Operation[] = []
  #reading: Promise<void> | undefined
  #isRung = false
  /** As it was when letters were received last. */
  #bell: KeyValue | undefined
  #rungTo = 0
  #shouldRingTo = 0
  #cancelWatch: (() => void) | undefined
  #cancelLook: () => void = () => {}
  #isClearing = false
  #closed = false

  constructor(options: MailboxOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    await this.#look()
    this.#watch()
    this.#lookLater()
  }

  get readTo(): number {
    return this.#readTo
  }

  /** Where letters for this process begin. */
  get key(): string {
    return this.#options.keys.mail(this.#options.process).key
  }

  /** Reads what has come since it was last read: to be part of a transaction. */
  reading(serializable: boolean): Operation {
    const { keys, process } = this.#options
    return { range: { ...keys.mail(process), sort: 'mod', minModRevision: this.#readTo + 1, serializable } }
  }

  /** Reads when the bell was rung last: to be part of a commit. To read all that lies there with every commit would cost etcd more than the commit. */
  get listening(): Operation {
    return { range: { key: this.#bellKey } }
  }

  /** What that has found. Where letters have come since the last that were received, the watch is still to bring them. */
  heard({ kvs }: Found, revision: number): void {
    const isNoneMissing = kvs.every(({ modRevision }) => modRevision <= this.#readTo)
    if (isNoneMissing) this.#readTo = Math.max(this.#readTo, revision)
  }

  /** What `reading` has found. Resolves when it was told. */
  receive({ kvs }: Found, revision: number): Promise<void> {
    // Another read may have brought some of them in between.
    const all = kvs.filter(({ modRevision }) => modRevision > this.#readTo)
    const fresh = all.filter(({ key }) => key !== this.#bellKey)
    this.#bell = all.find(({ key }) => key === this.#bellKey) ?? this.#bell
    this.#readTo = Math.max(this.#readTo, revision)
    for (const { key } of fresh) this.#toDelete.push({ delete: { key } })
    if (fresh.length > 0) this.#clearLater()
    const letters = fresh.map((kv) => this.#read(kv))
    const isAllHere = letters.every((letter) => typeof letter === 'string')
    if (!this.#isBehind && isAllHere) {
      for (const letter of letters) this.receiver?.receive(letter)
    } else if (letters.length > 0) {
      this.#isBehind = true
      this.#told = this.#told.then(() => this.#tell(letters))
      const last = this.#told
      void last.then(() => {
        if (last === this.#told) this.#isBehind = false
      })
    }
    return this.#told
  }

  /** Nothing for one whose parts cannot be read. */
  #read({ value, modRevision }: KeyValue): string | Promise<string | undefined> {
    const { text, delta } = letterIn(value)
    if (delta) this.#options.copies.follow(delta, modRevision)
    const letter = this.#options.large.read(text)
    return typeof letter === 'string' ? letter : letter.catch(() => undefined)
  }

  async #tell(letters: readonly (string | Promise<string | undefined>)[]): Promise<void> {
    for (const letter of letters) {
      const text = await letter
      if (text === undefined) this.receiver?.missed()
      else this.receiver?.receive(text)
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#cancelWatch?.()
    this.#cancelLook()
    const { etcd, keys, process } = this.#options
    await etcd.txn({ compare: [], success: [{ delete: keys.mail(process) }] })
  }

  #watch(): void {
    if (this.#closed) return
    const { etcd, keys, process, timing } = this.#options
    this.#cancelWatch = etcd.watch(keys.mail(process), this.#readTo + 1, {
      events: (events, revision) => {
        this.#rungTo = Math.max(this.#rungTo, revision)
        if (!this.#hear(events)) this.#ring()
      },
      progress: () => {},
      ended: () => {
        this.#cancelWatch = undefined
        // Whatever has come meanwhile is there to be read.
        this.#ring()
        timing.after(AGAIN_MS, () => this.#watch())
      },
    })
  }

  /** False where something is missing before these. */
  #hear(events: readonly WatchEvent[]): boolean {
    const kvs = events.filter(({ type }) => type === 'put').map(({ kv }) => kv)
    for (const bell of kvs.filter(({ key, modRevision }) => key === this.#bellKey && modRevision > this.#readTo)) {
      const { createRevision, modRevision, version } = bell
      const isNext = createRevision === this.#bell?.createRevision && version === this.#bell.version + 1
      if (!isNext) return false
      const found = kvs.filter((each) => each.modRevision === modRevision)
      void this.receive({ kvs: found, count: found.length }, modRevision)
    }
    return true
  }

  get #bellKey(): string {
    return this.#options.keys.bell(this.#options.process)
  }

  /** Reads, and once more where it was rung meanwhile. */
  #ring(): void {
    this.#isRung = true
    this.#reading ??= this.#readAll().finally(() => {
      this.#reading = undefined
      if (this.#isRung && !this.#closed) this.#ring()
    })
  }

  async #readAll(): Promise<void> {
    this.#isRung = false
    const before = this.#readTo
    try {
      // The member that has rung has it.
      const { outcomes, revision } = await this.#options.etcd.txn({ compare: [], success: [this.reading(true)] })
      await this.receive(foundIn(outcomes[0]), revision)
    } catch {
      if (this.#readTo === before) await this.#options.timing.pause(AGAIN_MS)
    }
  }

  #lookLater(): void {
    if (this.#closed) return
    this.#cancelLook = this.#options.timing.after(LOOK_MS, () => {
      this.#look()
        .catch(() => {})
        .finally(() => this.#lookLater())
    })
  }

  /** Asks a quorum. A watch that has not rung by the next look for what is found in this one is deaf. */
  async #look(): Promise<void> {
    const isDeaf = this.#rungTo < this.#shouldRingTo
    const { outcomes, revision } = await this.#options.etcd.txn({ compare: [], success: [this.reading(false)] })
    const found = foundIn(outcomes[0])
    this.#shouldRingTo = found.kvs.at(-1)?.modRevision ?? 0
    await this.receive(found, revision)
    if (!isDeaf) return
    this.#cancelWatch?.()
    this.#watch()
  }

  #clearLater(): void {
    if (this.#isClearing || this.#closed) return
    this.#isClearing = true
    this.#options.timing.after(CLEAR_MS, () => {
      this.#clear()
        .catch(() => {})
        .finally(() => {
          this.#isClearing = false
          if (this.#toDelete.length > 0) this.#clearLater()
        })
    })
  }

  async #clear(): Promise<void> {
    const success = this.#toDelete.splice(0, CLEAR_AT_ONCE)
    await this.#options.etcd.txn({ compare: [], success: success }).catch((error) => {
      this.#toDelete.push(...success)
      throw error
    })
  }
}
