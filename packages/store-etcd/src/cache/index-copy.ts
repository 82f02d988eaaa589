import type { Address, Clock } from '@baton-lock/store/store'
import type { Timing } from '@baton-lock/store/timing'
import type { Etcd, KeyValue, WatchEvent } from '../etcd.ts'
import { addressIn, type Keys, pathOf } from '../keys.ts'
import { KnownSessions } from '../sessions/known-sessions.ts'
import { headFrom, type StoredHead } from '../transaction/document.ts'
import { foundIn } from '../transaction/found.ts'
import { Times, type WrittenTimes } from '../transaction/times.ts'

/** What is known of a resource. */
interface KnownResource {
  readonly address: Address
  readonly times: Times
  head: StoredHead
  headRevision: number
}

interface IndexOptions {
  readonly etcd: Etcd
  readonly keys: Keys
  readonly clock: Clock
  readonly timing: Timing
  /** These sessions are not alive any more. */
  readonly onLost: (sessions: readonly string[]) => void
  /** Another process has changed a resource, at this revision. */
  readonly onChanged: (address: Address, change: HeadChange) => void
}

const PAGE = 2_000
/** A watch that has not brought by then what is there is deaf. */
const DEAF_MS = 1_000
const AGAIN_MS = 300
/** Whatever a watch says, all is read again as often: it may have lost something in the middle. */
const READ_AGAIN_MS = 60_000

/**
 * A copy of the index in this process: what resources there are, when something is due on them, which sessions are alive.
 * It is read once and then followed by a watch. A watch is a hint: whoever has to be sure calls `sync`, and where the watch has not
 * brought what is there, all is read again.
 */
export class IndexCopy {
  readonly #options: IndexOptions
  readonly #resources = new Map<string, KnownResource>()
  readonly sessions: KnownSessions
  #revision = 0
  #readAtMs = 0
  #cancel: (() => void) | undefined
  #following: Promise<void> | undefined
  #wake: (() => void)[] = []
  #closed = false

  constructor(options: IndexOptions) {
    this.#options = options
    this.sessions = new KnownSessions(options.keys, options.clock)
  }

  get resources(): Iterable<KnownResource> {
    return this.#resources.values()
  }

  get resourceCount(): number {
    return this.#resources.size
  }

  of(address: Address): KnownResource | undefined {
    return this.#resources.get(pathOf(address))
  }

  /** A resource was read or written here, at that revision. */
  see(address: Address, revision: number, times: WrittenTimes, seenMs: number): Times {
    const known = this.of(address)
    known?.times.see(revision, times, seenMs)
    return known?.times ?? new Times(revision, times, seenMs)
  }

  /** This process has committed something of it, but nothing that is in the index. */
  touched(address: Address, revision: number, times: WrittenTimes, seenMs: number): void {
    this.of(address)?.times.see(revision, times, seenMs, true)
  }

  /** This process has committed it, deciding at `seenMs` by its clock. */
  committed(address: Address, revision: number, head: StoredHead | undefined, seenMs: number): void {
    this.#put(address, { revision, head, seenMs, isOwn: true })
  }

  /** Reads all, and follows. Resolves when all was read. */
  follow(): Promise<void> {
    this.#following ??= this.#begin().finally(() => {
      this.#following = undefined
    })
    return this.#following
  }

  /** From when it resolves, all that was committed before it was called is known here. */
  async sync(): Promise<void> {
    const { etcd, keys, timing } = this.#options
    if (timing.monoMs() > this.#readAtMs + READ_AGAIN_MS) await this.#anew()
    for (;;) {
      const endMs = timing.monoMs() + DEAF_MS
      const { outcomes, revision } = await etcd.txn({
        compare: [],
        success: [
          { range: { key: keys.tick, keysOnly: true } },
          ...[keys.heads, keys.sessions, keys.alive].map((range) => ({ range: { ...range, countOnly: true } })),
        ],
      })
      const [tick, ...counts] = outcomes.map((each) => foundIn(each))
      const isAll = () => {
        const sizes = [this.#resources.size, this.sessions.count, this.sessions.aliveCount]
        return sizes.every((size, index) => size === counts[index]!.count)
      }
      // Where more has come meanwhile, all before it has come too.
      const isThere = () => this.#revision > revision || (this.#revision >= (tick!.kvs[0]?.modRevision ?? 0) && isAll())
      while (!isThere() && timing.monoMs() < endMs) await this.#news(endMs - timing.monoMs())
      if (isThere()) return
      await this.#anew()
      if (this.#closed) return
    }
  }

  close(): void {
    this.#closed = true
    this.#cancel?.()
    this.#ring()
  }

  async #anew(): Promise<void> {
    this.#cancel?.()
    this.#cancel = undefined
    await this.follow().catch((error) => {
      this.#options.timing.after(AGAIN_MS, () => this.#again())
      throw error
    })
  }

  async #begin(): Promise<void> {
    const { etcd, keys, timing } = this.#options
    this.#readAtMs = timing.monoMs()
    const seen = new Set<string>()
    let first: number | undefined
    let { key } = keys.index
    for (;;) {
      const range = { key, end: keys.index.end!, limit: PAGE }
      const result = await etcd.txn({ compare: [], success: [{ range }] })
      // What changes while the pages are read is brought by the watch once more.
      first ??= result.revision
      const { kvs } = foundIn(result.outcomes[0])
      for (const kv of kvs) {
        this.#take(kv)
        seen.add(kv.key)
      }
      if (kvs.length < PAGE) break
      key = `${kvs.at(-1)!.key}\0`
    }
    this.#forgetAllBut(seen, first)
    this.#revision = Math.max(this.#revision, first)
    if (this.#closed) return
    let isOver = false
    // Letters that came with it are told first: somebody is waiting for them.
    const later = (work: () => void) => setImmediate(() => isOver || work())
    const cancel = etcd.watch(keys.index, first + 1, {
      events: (events, revision) => later(() => this.#receive(events, revision)),
      progress: (revision) =>
        later(() => {
          this.#revision = Math.max(this.#revision, revision)
          this.#ring()
        }),
      ended: () =>
        later(() => {
          this.#cancel = undefined
          this.#again()
        }),
    })
    this.#cancel = () => {
      isOver = true
      cancel()
    }
    this.#ring()
  }

  /** Until it works. */
  #again(): void {
    const { timing } = this.#options
    if (this.#closed) return
    this.follow().catch(() => timing.after(AGAIN_MS, () => this.#again()))
  }

  #receive(events: readonly WatchEvent[], revision: number): void {
    const lost: string[] = []
    for (const { type, kv } of events) {
      if (type === 'put') this.#take(kv)
      else lost.push(...this.#drop(kv.key, kv.modRevision))
    }
    this.#revision = Math.max(this.#revision, revision)
    this.#ring()
    if (lost.length > 0) this.#options.onLost(lost)
  }

  #take(kv: KeyValue): void {
    const { keys, clock } = this.#options
    const { key, value, modRevision } = kv
    if (key.startsWith(keys.heads.key)) {
      // Most often this process has committed it, and knows.
      const known = this.#resources.get(key.slice(keys.heads.key.length))
      if (known && known.headRevision >= modRevision) return
      const address = addressIn(key, keys.heads)
      this.#put(address, { revision: modRevision, head: headFrom(value), seenMs: clock.nowMs(), isOwn: false })
    } else this.sessions.take(kv)
  }

  /** Gives the session that is lost with it. */
  #drop(key: string, revision: number): readonly string[] {
    const { keys } = this.#options
    if (!key.startsWith(keys.heads.key)) return [this.sessions.drop(key) ?? []].flat()
    this.#put(addressIn(key, keys.heads), { revision, head: undefined })
    return []
  }

  #forgetAllBut(seen: ReadonlySet<string>, revision: number): void {
    const { keys } = this.#options
    for (const { address, times } of this.#resources.values())
      if (!seen.has(keys.head(address)) && times.revision <= revision) this.#resources.delete(pathOf(address))
    const lost = this.sessions.dropAllBut(seen)
    if (lost.length > 0) this.#options.onLost(lost)
  }

  #put(address: Address, { revision, head, seenMs = 0, isOwn = false }: Put): void {
    const path = pathOf(address)
    const known = this.#resources.get(path)
    if (!isOwn) this.#options.onChanged(address, { revision, before: known?.head, after: head })
    // It may have been read since, and its times be known already.
    if (known && known.headRevision > revision) return
    if (!head) this.#resources.delete(path)
    else if (!known) {
      const times = new Times(revision, head, seenMs, isOwn)
      this.#resources.set(path, { address, head, headRevision: revision, times })
    } else {
      known.times.see(revision, head, seenMs, isOwn)
      known.head = head
      known.headRevision = revision
    }
  }

  #ring(): void {
    for (const wake of this.#wake.splice(0)) wake()
  }

  /** Something has come, or so much time has passed. */
  #news(limitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#options.timing.after(limitMs, resolve)
      this.#wake.push(() => {
        cancel()
        resolve()
      })
    })
  }
}

/** What became of a resource. Nothing where there was or is none. */
export interface HeadChange {
  readonly revision: number
  readonly before: StoredHead | undefined
  readonly after: StoredHead | undefined
}

interface Put {
  readonly revision: number
  readonly head: StoredHead | undefined
  readonly seenMs?: number
  readonly isOwn?: boolean
}
