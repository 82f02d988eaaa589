import type { Change, Opened, OpenedResource, Opening, OpenMode } from '@baton-lock/store/remote'
import type { Address } from '@baton-lock/store/store'
import { Copy } from '../cache/copies.ts'
import { addNextInLine } from '../cache/next-in-line.ts'
import { copyOf, Recollection } from '../cache/recollection.ts'
import type { Comparison, Found, KeyValue } from '../etcd.ts'
import { Conflict } from '../failures.ts'
import { pathOf } from '../keys.ts'
import { whereabouts } from '../sessions/whereabouts.ts'
import type { Meta } from '../upkeep/store-state.ts'
import { distinct, isNotSince, isNotThere, isOf, isThere } from './comparisons.ts'
import type { Around } from './dependencies.ts'
import { resourceFrom, type StoredResource } from './document.ts'
import { beginPart, type PartReading } from './parts.ts'
import { Reads } from './reads.ts'
import type { Stamp, Times } from './times.ts'

/** A resource as it was found. */
interface FoundResource {
  readonly address: Address
  /** Nothing where there is none. */
  readonly stored: StoredResource | undefined
  readonly modRevision: number
  /** When it was found, by the clock of this process, and what time that was for it. */
  readonly seenMs: number
  readonly stamp: Stamp
}

/**
 * Resources that were read to be changed. Nothing is locked: what was found is compared by the commit, all of it, so that
 * a commit is only made on what is so at that moment. Therefore any member may be read, however far behind it is.
 */
export class OpenedResources {
  readonly #around: Around
  readonly #openings: readonly Opening[]
  readonly #mayCommit: boolean
  /** The member at hand is read. */
  readonly #isLocal: boolean
  /** What is read after that is read there: `#unchanged` sees whether it is behind. */
  readonly #isNextLocal: boolean
  /** What is known here need not be read; the index says where sessions are. */
  readonly #mayRecall: boolean
  readonly #mayBelieveIndex: boolean
  readonly #reads: Reads
  readonly #meta: () => Found
  readonly #hearers: () => Found
  readonly #received: () => Promise<void>
  readonly #resources: readonly { readonly kv: () => KeyValue | undefined; readonly parts: readonly PartReading[] }[]
  readonly #sessions: ReadonlyMap<string, () => Found>
  #parsedMeta: Meta | undefined
  #found: readonly FoundResource[] = []
  #byPath: ReadonlyMap<string, FoundResource> = new Map()
  #recollection: Recollection
  #copies: ReadonlyMap<string, Copy> = new Map()

  constructor(around: Around, openings: readonly Opening[], { how, tries }: OpeningOptions) {
    const { keys, storeState } = around
    const isLocal = how !== 'read' && tries === 1
    const reads = new Reads(isLocal)
    this.#around = around
    this.#openings = openings
    this.#mayCommit = how !== 'read'
    this.#isLocal = isLocal
    this.#isNextLocal = how !== 'read' && tries % BY_QUORUM !== 0
    this.#mayRecall = how !== 'read' && tries <= RECALLED
    this.#mayBelieveIndex = tries <= RECALLED || tries % 2 === 0
    this.#reads = reads
    this.#recollection = new Recollection(around)
    const { meta, hearers, received } = storeState.addTo(reads, isLocal)
    this.#meta = meta
    this.#hearers = hearers
    this.#received = received
    const sessions = new Set(openings.flatMap((opening) => opening.sessions))
    this.#sessions = new Map(
      Array.from(sessions, (session) => [session, reads.add({ key: keys.aliveOne(session), keysOnly: true })]),
    )
    this.#resources = openings.map(({ address, parts }) => {
      const found = reads.add({ key: keys.resource(address) })
      return { kv: () => found().kvs[0], parts: parts.map((wanted) => beginPart(keys, address, wanted, reads)) }
    })
  }

  /** What is read, by `run` or by a commit that fails, so that it is known at once what is so. To be called once. */
  toRead(): Reads {
    if (this.#openings.length === 1 && this.#mayCommit) addNextInLine(this.#reads, this.#around, this.#openings[0]!)
    return this.#reads
  }

  get revision(): number {
    return this.#reads.revision
  }

  get meta(): Meta {
    this.#parsedMeta ??= JSON.parse(this.#meta().kvs[0]!.value) as Meta
    return this.#parsedMeta
  }

  /** Nothing was read. */
  get isRecalled(): boolean {
    return this.#reads.isRecalled
  }

  /** Those of which something is known that need not be read the next time, by their paths. */
  get copies(): ReadonlyMap<string, Copy> {
    return this.#reads.isRecalled ? this.#recollection.copies : this.#copies
  }

  get paths(): readonly string[] {
    return this.#openings.map(({ address }) => pathOf(address))
  }

  of(address: Address): FoundResource {
    return this.#byPath.get(pathOf(address))!
  }

  async run(): Promise<this> {
    await this.toRead().run(this.#around.etcd)
    return this
  }

  /** By what is known here, without reading. False where that is not enough. */
  async recall(): Promise<boolean> {
    const { readAhead, storeState } = this.#around
    if (!this.#isLocal) return false
    await readAhead.underWay(this.paths)
    const { fresh } = storeState
    if (!fresh) return false
    const copies = new Map<string, Copy>()
    for (const { address } of this.#openings) {
      const path = pathOf(address)
      const copy = copyOf(this.#around, address, path)
      if (!copy) return false
      copies.set(path, copy)
    }
    const recollection = new Recollection(this.#around, copies, this.#openings.length === 1)
    if (!recollection.recall(this.#reads, fresh.revision)) return false
    this.#recollection = recollection
    return true
  }

  async opened(): Promise<Opened> {
    const { clock, index, journal, keys, large, process } = this.#around
    await this.#received()
    const seenMs = clock.nowMs()
    this.#found = this.#resources.map(({ kv }, at) => {
      const { address } = this.#openings[at]!
      const { value, modRevision = 0 } = kv() ?? {}
      const stored = value === undefined ? undefined : resourceFrom(value)
      const times = stored && index.see(address, modRevision, stored, seenMs)
      return { address, stored, modRevision, seenMs, stamp: this.#stampOf(times, seenMs) }
    })
    this.#byPath = new Map(this.#found.map((each) => [pathOf(each.address), each]))
    if (!this.#reads.isRecalled) this.#copies = this.#readCopies()
    const journals = this.#found.flatMap(({ stored }) => stored?.journal ?? [])
    if (await journal.finishAll(journals, this.revision))
      throw new Conflict('a large commit had to be carried out first')
    await this.#readParts()
    const { policyVersion, floor } = this.meta
    const resources: OpenedResource[] = []
    for (const [at, { stored, stamp, modRevision, seenMs }] of this.#found.entries()) {
      const fenceFloor = Math.max(floor, this.revision, modRevision)
      const parts = this.#resources[at]!.parts.map((part) => part.end())
      const text = stored && (await large.read(stored.value))
      resources.push({
        nowMs: stamp.atMs,
        clockMs: Math.floor(seenMs),
        text,
        fence: stored?.fence ?? 0,
        fenceFloor,
        parts,
      })
    }
    const hearers = this.#hearers().kvs.map(({ key }) => key.slice(keys.hearers.key.length))
    return { policyVersion, hearers: hearers.filter((each) => each !== process), alive: this.#alive, resources }
  }

  /** Which processes these sessions are at. */
  async processesOf(sessions: readonly string[]): Promise<readonly string[]> {
    const { etcd, keys } = this.#around
    const processes = new Set<string>()
    for (let from = 0; from < sessions.length; from += SESSIONS_AT_ONCE) {
      const reads = new Reads(false)
      const some = sessions.slice(from, from + SESSIONS_AT_ONCE)
      const found = some.map((session) => reads.add({ key: keys.aliveOne(session) }))
      if (!this.#recall(reads)) await reads.run(etcd)
      for (const each of found) for (const { value } of each().kvs) processes.add(value)
    }
    return [...processes]
  }

  /** Reads on, of one of them. */
  async readOn(address: Address, begin: (reads: Reads) => PartReading): Promise<PartReading> {
    const { etcd } = this.#around
    const first = new Reads(this.#isNextLocal)
    const isUnchanged = this.#unchanged(address, first)
    const part = begin(first)
    if (!this.#recall(first)) await first.run(etcd)
    isUnchanged()
    const second = new Reads(this.#isNextLocal)
    part.go(second)
    if (this.#recall(second)) return part
    const isStillUnchanged = this.#unchanged(address, second)
    await second.run(etcd)
    isStillUnchanged()
    return part
  }

  /**
   * What has to be so still: the resources, the sessions, the policy and the hearers, all as they were found; and whoever is to be
   * told of these changes is where it will be told.
   */
  comparisons(changes: readonly Change[]): Comparison[] {
    const { keys } = this.#around
    const comparisons = [{ key: keys.meta }, keys.hearers].map((range) => isNotSince(range, this.revision))
    for (const { address, stored, modRevision } of this.#found) {
      comparisons.push(isOf(keys.resource(address), modRevision))
      // It may have been made and forgotten meanwhile; two may share that mark.
      if (!stored) comparisons.push(isNotSince({ key: keys.gone(address) }, this.revision))
    }
    const alive = this.#alive
    for (const session of this.#sessions.keys()) {
      const key = keys.aliveOne(session)
      comparisons.push(alive.has(session) ? isThere(key) : isNotThere(key))
    }
    const { revision } = this
    const told = whereabouts(this.#around, changes, { revision, alive, mayBelieveIndex: this.#mayBelieveIndex })
    return distinct([...comparisons, ...told, ...this.#recollection.comparisons])
  }

  get #alive(): ReadonlySet<string> {
    return new Set([...this.#sessions].filter(([, found]) => found().kvs.length > 0).map(([session]) => session))
  }

  #stampOf(times: Times | undefined, localMs: number): Stamp {
    if (times && this.#mayCommit) return times.stamp(localMs)
    return { atMs: Math.floor(times?.nowMs(localMs) ?? localMs), aheadMs: 0 }
  }

  async #readParts(): Promise<void> {
    const second = new Reads(this.#isNextLocal)
    for (const { parts } of this.#resources) for (const part of parts) part.go(second)
    if (this.#recall(second)) return
    const checks = this.#openings.map(({ address }) => this.#unchanged(address, second))
    await second.run(this.#around.etcd)
    for (const check of checks) check()
  }

  #recall(reads: Reads): boolean {
    if (!this.#mayRecall) return reads.size === 0
    return this.#recollection.recall(reads, this.revision)
  }

  /** What was read of each resource; of one that is not there, that there is nothing. */
  #readCopies(): ReadonlyMap<string, Copy> {
    const { copies, keys } = this.#around
    return new Map(
      this.#found.map(({ address, stored, modRevision }) => {
        const path = pathOf(address)
        if (!stored) return [path, new Copy()]
        return [path, Copy.ofReads(this.#reads.found(), { path, keys, modRevision, before: copies.of(path) })]
      }),
    )
  }

  /** Reads the resource once more; whoever calls what is returned learns of a change. */
  #unchanged(address: Address, reads: Reads): () => void {
    const found = reads.add({ key: this.#around.keys.resource(address), keysOnly: true })
    return () => {
      // Sessions may have moved since, and what is compared is younger than that.
      if (reads.revision < this.revision) throw new Conflict('a member was read that is behind')
      if ((found().kvs[0]?.modRevision ?? 0) !== this.of(address).modRevision)
        throw new Conflict('the resource has changed while it was read')
    }
  }
}

const SESSIONS_AT_ONCE = 2_000
/** Where one try after another has failed, the member at hand may be behind. */
const BY_QUORUM = 3

interface OpeningOptions {
  readonly how: OpenMode
  /** Which try it is. The first one is content with what the member at hand knows. */
  readonly tries: number
}

/** Most often it is the resource that has changed. From then on nothing is taken from what is known here, which may be what was wrong. */
const RECALLED = 2
