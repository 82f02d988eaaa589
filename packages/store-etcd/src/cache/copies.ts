import type { Found, KeyValue, Operation, Keys as Range, RangeOptions } from '../etcd.ts'
import { type Keys, pathIn } from '../keys.ts'

/** The keys and values of all copies together are no longer than this: those that were used least recently go. */
const CHARACTERS = 16 * 1024 * 1024

/** So many that others have changed are kept, until it is told how. */
const BEHIND = 1_000

/** What one commit has done to a resource, from the revision that it had. */
export interface Delta {
  readonly path: string
  readonly base: number
  readonly operations: readonly Operation[]
}

/** A resource as this process has left or read it: its keys, all of them or those in some ranges. */
export class Copy {
  /** Of the resource itself, which every commit on it changes; 0 where it is not there. */
  readonly modRevision: number
  /** How often it was read since this process has changed it. */
  readonly inVain: number
  readonly #byKey: Map<string, KeyValue>
  /** In order. */
  readonly #keys: string[]
  /** Where all keys are known; nothing: everywhere. */
  readonly #within: readonly Range[] | undefined
  #size = 0

  /** One that was read: all keys in these ranges. */
  static of(kvs: readonly KeyValue[], within: readonly Range[], { modRevision, inVain }: Origin): Copy {
    const copy = new Copy({ modRevision, inVain }, within)
    for (const kv of kvs) copy.#byKey.set(kv.key, kv)
    for (const kv of copy.#byKey.values()) copy.#size += sizeOf(kv)
    copy.#keys.push(...[...copy.#byKey.keys()].sort())
    return copy
  }

  /** By what was read of it; and by what was known of it before, where that is of the same revision. */
  static ofReads(reads: Iterable<Read>, { path, keys, modRevision, before, inVain = 0 }: ReadCopy): Copy {
    const some: Read[] = []
    for (const read of reads) {
      const [{ key, keysOnly }] = read
      if (pathIn(key, keys) === path && (!keysOnly || keys.isWithoutValues(key))) some.push(read)
    }
    const known = before?.modRevision === modRevision ? before : new Copy({ modRevision, inVain }, [])
    return known.and(some, keys)
  }

  /** `before`: what it was then, which is used up. */
  constructor({ modRevision, inVain }: Origin = NEW, within?: readonly Range[], before?: Copy) {
    this.modRevision = modRevision
    this.inVain = inVain
    this.#within = within
    this.#byKey = before ? before.#byKey : new Map()
    this.#keys = before ? before.#keys : []
    this.#size = before ? before.#size : 0
  }

  /** In characters. */
  get size(): number {
    return this.#size
  }

  /** With what was read of it besides, at the same revision. The copy itself is used up. */
  and(reads: readonly Read[], keys: Keys): Copy {
    if (!this.#within) return this
    const more = reads.flatMap((read) => knownBy(read) ?? [])
    const others = this.#within.filter(({ key, end }) => !more.some((each) => each.key === key && each.end === end))
    const within = asManyAsAreKept([...others, ...more], keys)
    const kvs = reads.flatMap(([, found]) => found.kvs)
    return kvs.length === 0 ? new Copy(this, within, this) : Copy.of([...this.#byKey.values(), ...kvs], within, this)
  }

  /** What etcd would find; nothing where that is not known. */
  find({ key, end, limit = Infinity }: RangeOptions): Found | undefined {
    if (this.#within && !this.#within.some((range) => isWithin(range, { key, end }))) return this.#first(key, limit)
    if (end === undefined) {
      const kv = this.#byKey.get(key)
      return kv ? { kvs: [kv], count: 1 } : NOTHING
    }
    const from = this.#placeOf(key)
    const to = this.#placeOf(end)
    if (from === to) return NOTHING
    const kvs = this.#keys.slice(from, Math.min(to, from + limit)).map((each) => this.#byKey.get(each)!)
    return { kvs, count: to - from }
  }

  /** As it is after a commit that has done this to it. The copy itself is used up. */
  after(operations: readonly Operation[], revision: number): Copy {
    for (const operation of operations) {
      if ('put' in operation) this.#put(operation.put.key, operation.put.value, revision)
      else if ('delete' in operation) this.#delete(operation.delete)
    }
    return new Copy({ modRevision: revision, inVain: 0 }, this.#within, this)
  }

  /** So many from there on, where as many are known; more may come after them. */
  #first(key: string, limit: number): Found | undefined {
    const from = this.#placeOf(key)
    for (const range of this.#within ?? []) {
      if (key < range.key || range.end === undefined || this.#placeOf(range.end) - from < limit) continue
      const kvs = this.#keys.slice(from, from + limit).map((each) => this.#byKey.get(each)!)
      return { kvs, count: limit + 1 }
    }
    return undefined
  }

  #put(key: string, value: string, revision: number): void {
    const before = this.#byKey.get(key)
    const { createRevision = revision, version = 0 } = before ?? {}
    this.#byKey.set(key, { key, value, createRevision, modRevision: revision, version: version + 1, lease: 0 })
    this.#size += sizeOf({ key, value }) - (before ? sizeOf(before) : 0)
    if (!before) this.#keys.splice(this.#placeOf(key), 0, key)
  }

  #delete({ key, end }: { readonly key: string; readonly end?: string }): void {
    const from = this.#placeOf(key)
    const isThere = end !== undefined || this.#byKey.has(key)
    const to = end === undefined ? from + (isThere ? 1 : 0) : this.#placeOf(end)
    for (const gone of this.#keys.splice(from, to - from)) {
      this.#size -= sizeOf(this.#byKey.get(gone)!)
      this.#byKey.delete(gone)
    }
  }

  /** Where the first key stands that does not come before this one. */
  #placeOf(key: string): number {
    let [from, to] = [0, this.#keys.length]
    while (from < to) {
      const middle = (from + to) >>> 1
      if (this.#keys[middle]! < key) from = middle + 1
      else to = middle
    }
    return from
  }
}

const NOTHING: Found = { kvs: [], count: 0 }
const NEW: Origin = { modRevision: 0, inVain: 0 }

/** So many ranges are known at most. What is in another one is read again when it is wanted. */
const PIECES = 64

/** Those of single asks go first, and of these the oldest: every ask has its own. */
function asManyAsAreKept(ranges: readonly Range[], keys: Keys): readonly Range[] {
  if (ranges.length <= PIECES) return ranges
  const ofAsks = ranges.filter(({ key }) => keys.isOfOneAsk(key))
  const dropped = new Set(ofAsks.slice(0, ranges.length - PIECES))
  return ranges.filter((range) => !dropped.has(range)).slice(-PIECES)
}

function isWithin(range: Range, { key, end }: { readonly key: string; readonly end: string | undefined }): boolean {
  if (range.end === undefined) return end === undefined && key === range.key
  return key >= range.key && (end === undefined ? key < range.end : end <= range.end)
}

/** What was asked for, and what was found. */
type Read = readonly [RangeOptions, Found]

/** Where a read has found all keys: up to the last of them, where it was content with the first. */
function knownBy([{ key, end, sort }, { kvs, count }]: Read): Range | undefined {
  if (kvs.length === count) return { key, ...(end !== undefined && { end }) }
  const last = sort ? undefined : kvs.at(-1)
  return last && { key, end: `${last.key}\0` }
}

interface ReadCopy {
  readonly path: string
  readonly keys: Keys
  readonly modRevision: number
  readonly before: Copy | undefined
  /** Of one that is new. */
  readonly inVain?: number
}

type Origin = Pick<Copy, 'modRevision' | 'inVain'>

/**
 * Resources that this process was the last to change, or has read ahead. A step on one of them is decided without reading it: the commit
 * compares its revision, as it always does, and nothing of a resource is changed without that. There is one transaction at a time for a resource in a
 * process (see `Lanes`), so nobody else has the copy that a commit uses up.
 */
export class Copies {
  readonly #keys: Keys
  /** By the path of the resource; who was used last comes last. */
  readonly #copies = new Map<string, Copy>()
  /** Those that were copies until others changed the resources. */
  readonly #behind = new Map<string, Copy>()
  #size = 0

  constructor(keys: Keys) {
    this.#keys = keys
  }

  of(path: string): Copy | undefined {
    const copy = this.#copies.get(path)
    if (!copy) return undefined
    this.#copies.delete(path)
    this.#copies.set(path, copy)
    return copy
  }

  drop(path: string): void {
    this.#size -= this.#copies.get(path)?.size ?? 0
    this.#copies.delete(path)
  }

  /** It has changed at this revision. Gives the copy that is not one any more. */
  heard(path: string, revision: number): Copy | undefined {
    const copy = this.#copies.get(path)
    if (!copy || copy.modRevision >= revision) return undefined
    this.drop(path)
    // How it has changed may still be told.
    if (this.#behind.size >= BEHIND) this.#behind.clear()
    this.#behind.set(path, copy)
    return copy
  }

  /** Another process has changed it like this, at that revision. */
  follow({ path, base, operations }: Delta, revision: number): void {
    const copy = this.#copies.get(path) ?? this.#behind.get(path)
    if (copy?.modRevision !== base) return
    this.drop(path)
    this.#behind.delete(path)
    this.put(path, copy.after(operations, revision))
  }

  put(path: string, copy: Copy): void {
    // A commit of this process may have come after it was read.
    if ((this.#copies.get(path)?.modRevision ?? 0) > copy.modRevision) return
    this.drop(path)
    // One that is not there is not known by its keys.
    if (copy.size === 0) return
    this.#copies.set(path, copy)
    this.#size += copy.size
    for (const [oldest] of this.#copies) {
      if (this.#size <= CHARACTERS) return
      this.drop(oldest)
    }
  }

  /** What these operations do to a resource that had this revision. */
  deltaOf(path: string, base: number, operations: readonly Operation[]): Delta {
    return { path, base, operations: operations.filter((each) => pathIn(keyOf(each), this.#keys) === path) }
  }

  /** A commit was made on these, each as the copy had it. */
  committed(copies: ReadonlyMap<string, Copy>, operations: readonly Operation[], revision: number): void {
    const changes = new Map<string, Operation[]>()
    for (const operation of operations) {
      const path = pathIn(keyOf(operation), this.#keys)
      if (path === undefined || !copies.has(path)) continue
      const some = changes.get(path)
      if (some) some.push(operation)
      else changes.set(path, [operation])
    }
    for (const [path, copy] of copies) {
      const some = changes.get(path)
      this.drop(path)
      this.put(path, some ? copy.after(some, revision) : copy)
    }
  }
}

function sizeOf({ key, value }: Pick<KeyValue, 'key' | 'value'>): number {
  return key.length + value.length
}

function keyOf(operation: Operation): string {
  if ('put' in operation) return operation.put.key
  return 'delete' in operation ? operation.delete.key : ''
}
