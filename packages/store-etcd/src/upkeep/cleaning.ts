import type { KeptAnswer } from '@baton-lock/core'
import type { Clock } from '@baton-lock/store/store'
import type { Timing } from '@baton-lock/store/timing'
import type { IndexCopy } from '../cache/index-copy.ts'
import { type Etcd, EtcdError, type Found, type KeyValue, type Operation, type RangeOptions } from '../etcd.ts'
import { addressIn, type Keys, partsIn, under } from '../keys.ts'
import { isNotThere, isOf } from '../transaction/comparisons.ts'
import { resourceFrom } from '../transaction/document.ts'
import { foundIn } from '../transaction/found.ts'
import { MARK_KEY, partsPrefixOf } from '../transaction/large-values.ts'
import type { WrittenMemory } from '../transaction/memories.ts'

interface CleaningOptions {
  readonly etcd: Etcd
  readonly keys: Keys
  readonly clock: Clock
  readonly timing: Timing
  readonly index: IndexCopy
  /** How old a revision has to be to be compacted; nothing: that is left to others. */
  readonly compactMs: number | undefined
}

const PAGE = 1_000
/** Memories are gone through as often at most. */
const MEMORIES_MS = 60_000

/** Clears away what nobody can ask for any more, and the history that etcd keeps of every key. */
export class Cleaning {
  readonly #options: CleaningOptions
  #memoriesAtMs = -Infinity
  /** What was written of the last compaction when this process looked last. */
  #compacted = 0
  #cancel: () => void = () => {}
  #closed = false

  constructor(options: CleaningOptions) {
    this.#options = options
  }

  start(): void {
    this.#compactLater()
  }

  close(): void {
    this.#closed = true
    this.#cancel()
  }

  async clear(): Promise<void> {
    const { timing } = this.#options
    await this.#clearMail()
    if (timing.monoMs() < this.#memoriesAtMs + MEMORIES_MS) return
    this.#memoriesAtMs = timing.monoMs()
    await this.#clearMemories()
  }

  /** Of processes that are gone. */
  async #clearMail(): Promise<void> {
    const { etcd, keys } = this.#options
    const reads = [keys.processes, keys.allMail].map((range) => ({ range: { ...range, keysOnly: true, limit: PAGE } }))
    const { outcomes } = await etcd.txn({ compare: [], success: reads })
    const [there, mail] = outcomes.map((each) => foundIn(each)) as [Found, Found]
    const processes = new Set(there.kvs.map(({ key }) => partsIn(key, keys.processes)[0]))
    const readers = new Set(mail.kvs.map(({ key }) => partsIn(key, keys.allMail)[0]!))
    for (const process of readers) {
      if (processes.has(process)) continue
      await etcd.txn({
        compare: [isNotThere(`${keys.processes.key}${process}`)],
        success: [{ delete: keys.mail(process) }],
      })
    }
  }

  /** Of resources that live on. Those of a resource that is forgotten go with it. */
  async #clearMemories(): Promise<void> {
    const { keys } = this.#options
    // Before the memories: whoever names an answer puts it anew.
    const answers = new Map<string, KeyValue>()
    for await (const kvs of this.#pages({ ...keys.allAnswers, keysOnly: true }))
      for (const kv of kvs) answers.set(kv.key, kv)
    for await (const kvs of this.#pages(keys.allMemories)) {
      const over = kvs.filter((kv) => this.#isOver(kv))
      await this.#deleteUnchanged(over)
      for (const kv of kvs) {
        const { answer } = JSON.parse(kv.value) as WrittenMemory
        if (answer !== undefined && !over.includes(kv)) answers.delete(answer)
      }
    }
    await this.#deleteUnchanged([...answers.values()])
  }

  /** What was written for large commits that came to nothing, before this revision. */
  async #clearOrphans(revision: number): Promise<void> {
    const { keys } = this.#options
    const marks: KeyValue[] = []
    for (const range of [keys.journals, keys.allParts])
      for await (const kvs of this.#pages({ ...range, keysOnly: true }))
        marks.push(...kvs.filter((kv) => kv.key.endsWith(`/${MARK_KEY}`) && kv.modRevision < revision))
    if (marks.length === 0) return
    const named = new Set<string>()
    for await (const kvs of this.#pages(keys.resources)) {
      for (const kv of kvs) {
        const { journal, value } = resourceFrom(kv.value)
        if (journal !== undefined) named.add(keys.journal(journal).key)
        const parts = partsPrefixOf(value)
        if (parts !== undefined) named.add(parts)
      }
    }
    for (const { key, modRevision } of marks) {
      const prefix = key.slice(0, -MARK_KEY.length)
      if (named.has(prefix)) continue
      await this.#options.etcd.txn({
        // A commit that names it meanwhile has written it again.
        compare: [isOf(key, modRevision)],
        success: [{ delete: under(prefix) }],
      })
    }
  }

  async *#pages(range: RangeOptions): AsyncIterable<readonly KeyValue[]> {
    const { etcd } = this.#options
    for (let { key } = range; !this.#closed; ) {
      const { outcomes } = await etcd.txn({ compare: [], success: [{ range: { ...range, key, limit: PAGE } }] })
      const { kvs } = foundIn(outcomes[0])
      yield kvs
      if (kvs.length < PAGE) return
      key = `${kvs.at(-1)!.key}\0`
    }
  }

  /** But for those that were written anew meanwhile. */
  async #deleteUnchanged(kvs: readonly KeyValue[]): Promise<void> {
    const success = kvs.map(({ key, modRevision: revision }): Operation => {
      return { txn: { compare: [isOf(key, revision)], success: [{ delete: { key } }] } }
    })
    for (let from = 0; from < success.length; from += TOGETHER)
      await this.#options.etcd.txn({ compare: [], success: success.slice(from, from + TOGETHER) })
  }

  #isOver({ key, value }: KeyValue): boolean {
    const { keys, index, clock } = this.#options
    const known = index.of(addressIn(key, keys.allMemories))
    const { untilMs } = (JSON.parse(value) as WrittenMemory).value as KeptAnswer
    // One that is not known may just not have been heard of yet.
    return known !== undefined && untilMs <= known.times.nowMs(clock.nowMs())
  }

  #compactLater(): void {
    const { compactMs, timing } = this.#options
    if (compactMs === undefined || this.#closed) return
    this.#cancel = timing.after(compactMs * (0.9 + 0.2 * timing.random()), () => {
      this.#compact()
        .catch(() => {})
        .finally(() => this.#compactLater())
    })
  }

  /**
   * One process in every interval notes the present revision, and compacts up to the one that was noted before: so what is
   * younger than an interval is always there for those who watch.
   */
  async #compact(): Promise<void> {
    const { etcd, keys } = this.#options
    const { outcomes, revision } = await etcd.txn({ compare: [], success: [{ range: { key: keys.compaction } }] })
    const [kv] = foundIn(outcomes[0]).kvs
    const noted = kv?.modRevision ?? 0
    const isDone = noted !== this.#compacted
    this.#compacted = noted
    if (isDone) return
    const { succeeded } = await etcd.txn({
      compare: [isOf(keys.compaction, noted)],
      success: [{ put: { key: keys.compaction, value: String(revision) } }],
    })
    if (!succeeded || !kv) return
    await this.#clearOrphans(Number(kv.value))
    await etcd.compact(Number(kv.value)).catch((error) => {
      if (!(error instanceof EtcdError) || error.kind !== 'compacted') throw error
    })
  }
}

const TOGETHER = 50
