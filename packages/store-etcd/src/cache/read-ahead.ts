import type { AskName } from '@baton-lock/core'
import type { Change } from '@baton-lock/store/remote'
import type { Address } from '@baton-lock/store/store'
import type { Timing } from '@baton-lock/store/timing'
import type { Etcd, Keys as Range } from '../etcd.ts'
import { type Keys, pathOf } from '../keys.ts'
import { resourceFrom, waitersIn } from '../transaction/document.ts'
import { foundIn } from '../transaction/found.ts'
import { Reads } from '../transaction/reads.ts'
import type { CommitReading, StoreState } from '../upkeep/store-state.ts'
import { type Copies, Copy } from './copies.ts'
import type { HeadChange } from './index-copy.ts'

interface ReadAheadOptions {
  readonly etcd: Etcd
  readonly keys: Keys
  readonly timing: Timing
  readonly copies: Copies
  readonly storeState: StoreState
  /** Whether a session is at this process. */
  readonly isHere: (session: string) => boolean
}

/** Of no more than these is it read what they will ask for next. */
const CLAIMS = 4
/** One with more waiters than this is not read ahead. */
const SMALL = 64
const LETTER_MS = 1
/** What others go on changing is read when they have not for so long. */
const QUIET_MS = 10
/** And not more often than this where nothing comes of it here. */
const IN_VAIN = 8
/** One that was too large is not looked at for so long. */
const LARGE_MS = 1_000
/** So many at a time. */
const MOST = 200

/**
 * Reads resources before somebody here asks for them: one that a waiter of this process was granted, who will claim it; and one that
 * this process was the last to change, when somebody comes to wait for it elsewhere: most often its holder is here, and will release it. What such a step wants are the
 * waiters, and what is remembered of the one who claims. It is then decided without reading.
 */
export class ReadAhead {
  readonly #options: ReadAheadOptions
  readonly #reading = new Map<string, Promise<void>>()
  /** How to cancel those that are read soon. */
  readonly #soon = new Map<string, { readonly cancel: () => void; readonly inVain: number }>()
  /** Until when they are not looked at. */
  readonly #large = new Map<string, number>()

  constructor(options: ReadAheadOptions) {
    this.#options = options
  }

  /** Resolves when what is being read of them is there. */
  async underWay(paths: readonly string[]): Promise<void> {
    for (const path of this.#reading.size > 0 ? paths : []) await this.#reading.get(path)
  }

  /** Somebody here is about to act on it, by these asks. */
  read(address: Address, asks: readonly AskName[] = [], inVain = 0): void {
    const path = pathOf(address)
    const isLarge = (this.#large.get(path) ?? 0) > this.#options.timing.monoMs()
    const copy = this.#options.copies.of(path)
    const isKnown = copy !== undefined && this.#rangesOf(address, asks).every((range) => copy.find(range) !== undefined)
    if (isLarge || isKnown || this.#reading.has(path) || this.#reading.size >= MOST) return
    const reading = this.#read(address, asks, inVain).then(
      (copy) => copy && this.#options.copies.put(path, copy),
      // It is read when it is asked for.
      () => {},
    )
    this.#reading.set(
      path,
      reading.finally(() => this.#reading.delete(path)),
    )
  }

  /** What a commit of these changes reads: what waiters of this process that it takes out of the line will want when they claim. */
  inCommit(changes: readonly Change[], opened: ReadonlyMap<string, Copy>): CommitReading {
    const { copies, isHere, keys } = this.#options
    const some = changes.flatMap(({ address, waiters }) => {
      const copy = opened.get(pathOf(address))
      const claims = waiters.removed.filter(({ lease }) => lease.session !== undefined && isHere(lease.session))
      if (!copy || claims.length === 0 || waiters.removed.length > CLAIMS) return []
      const ranges = this.#rangesOf(address, claims).filter((range) => !copy.find(range))
      return ranges.map((range) => ({ path: pathOf(address), range }))
    })
    return {
      operations: some.map(({ range }) => ({ range })),
      committed: (outcomes) => {
        for (const [at, { path, range }] of some.entries()) {
          const copy = copies.of(path)
          if (copy) copies.put(path, copy.and([[range, foundIn(outcomes[at])]], keys))
        }
      },
    }
  }

  /** Another process has changed it. Where somebody has come to wait, the holder is most likely here, and will find it changed. */
  changed(address: Address, { revision, before, after }: HeadChange): void {
    const { copies, timing } = this.#options
    const path = pathOf(address)
    const waiting = this.#soon.get(path)
    const inVain = (copies.heard(path, revision) ?? waiting ?? this.#withoutWaiters(address))?.inVain
    const isLonger = before !== undefined && after !== undefined && waitersIn(after) > waitersIn(before)
    if (!isLonger || inVain === undefined || inVain > IN_VAIN || (!waiting && this.#soon.size >= MOST)) return
    waiting?.cancel()
    // At first it is only waited for the letter about it, which may say how it has changed.
    const cancel = timing.after(waiting || inVain > 0 ? QUIET_MS : LETTER_MS, () => {
      this.#soon.delete(path)
      this.read(address, [], inVain + 1)
    })
    this.#soon.set(path, { cancel, inVain })
  }

  /** The copy of a resource, where it does not say who waits. */
  #withoutWaiters(address: Address): Copy | undefined {
    const copy = this.#options.copies.of(pathOf(address))
    return copy && !copy.find(this.#options.keys.waiters(address)) ? copy : undefined
  }

  close(): void {
    for (const { cancel } of this.#soon.values()) cancel()
    this.#soon.clear()
  }

  /** Nothing where it is large, or not there. */
  async #read(address: Address, asks: readonly AskName[], inVain: number): Promise<Copy | undefined> {
    const { copies, etcd, keys, storeState } = this.#options
    const reads = new Reads(true)
    const received = storeState.fresh ? undefined : storeState.addTo(reads, true).received
    const resource = reads.add({ key: keys.resource(address) })
    const parts = this.#rangesOf(address, asks).map((range) => reads.add({ ...range, limit: SMALL }))
    await reads.run(etcd)
    await received?.()
    const [kv] = resource().kvs
    if (!kv || resourceFrom(kv.value).journal !== undefined) return undefined
    const found = parts.map((part) => part())
    if (found.some(({ count }) => count > SMALL)) {
      this.#isLarge(pathOf(address))
      return undefined
    }
    const { modRevision } = kv
    // Whoever decides on it has to have been told all that came before.
    if (modRevision > storeState.receivedTo) return undefined
    const path = pathOf(address)
    return Copy.ofReads(reads.found(), { path, keys, modRevision, before: copies.of(path), inVain })
  }

  /** What a release wants, or a claim by these asks. */
  #rangesOf(address: Address, asks: readonly AskName[]): readonly Range[] {
    const { keys } = this.#options
    if (asks.length === 0) return [keys.waiters(address)]
    const owners = asks.map(({ operation, owner }) => keys.ticketsOf(address, operation, owner))
    return [...owners, ...asks.map((ask) => keys.memoriesOf(address, ask))]
  }

  #isLarge(path: string): void {
    if (this.#large.size >= MOST) this.#large.clear()
    this.#large.set(path, this.#options.timing.monoMs() + LARGE_MS)
  }
}
