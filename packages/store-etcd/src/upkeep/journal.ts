import type { Timing } from '@baton-lock/store/timing'
import type { Etcd, Operation } from '../etcd.ts'
import type { Keys } from '../keys.ts'
import { foundIn } from '../transaction/found.ts'
import { MARK_KEY } from '../transaction/large-values.ts'
import { smallParts } from '../transaction/operations.ts'

/** So that a chunk with its keys escaped as JSON still fits into one value. */
const CHUNK_UNITS = 256 * 1024
const DONE = 1_000

/**
 * Commits that are too large for one request, as where ten thousand waiters are told of a success. What does not fit is
 * written down first, in chunks, and changes nothing. The transaction that counts writes the name of the journal into the resource. Then
 * the chunks are carried out, each once: by whoever has committed, or by whoever opens the resource next.
 */
export class Journal {
  readonly #etcd: Etcd
  readonly #keys: Keys
  readonly #timing: Timing
  readonly #underWay = new Map<string, Promise<void>>()
  /** The resource still names them until it is written next. By when they were found done: a member that is behind that still has what they have removed. */
  readonly #done = new Map<string, number>()

  constructor(etcd: Etcd, keys: Keys, timing: Timing) {
    this.#etcd = etcd
    this.#keys = keys
    this.#timing = timing
  }

  /** Writes operations down. Gives the name to be written into the resource with which they count. */
  async write(operations: readonly Operation[]): Promise<string> {
    const id = this.#timing.uniqueName()
    const { key } = this.#keys.journal(id)
    await this.#etcd.txn({ compare: [], success: [{ put: { key: this.markOf(id), value: '' } }] })
    for (const [number, chunk] of chunksOf(operations).entries()) {
      const value = JSON.stringify(chunk)
      await this.#etcd.txn({
        compare: [],
        success: [{ put: { key: `${key}${String(number).padStart(6, '0')}`, value } }],
      })
    }
    return id
  }

  /** What tells it from one that was left behind: written before it, and again by the commit with which it counts. */
  markOf(id: string): string {
    return `${this.#keys.journal(id).key}${MARK_KEY}`
  }

  /** It did not come to count, or has been carried out. Gives the revision at which there is nothing left of it. */
  async discard(id: string): Promise<number> {
    const { revision } = await this.#etcd.txn({ compare: [], success: [{ delete: this.#keys.journal(id) }] })
    return revision
  }

  /** Carries out what is left of them. Says whether what was read at this revision had not seen all of that. */
  async finishAll(ids: readonly string[], readAt: number): Promise<boolean> {
    const unseen = ids.filter((id) => (this.#done.get(id) ?? Number.POSITIVE_INFINITY) > readAt)
    for (const id of unseen) await this.finish(id)
    return unseen.length > 0
  }

  /** Carries out what is left of it. */
  finish(id: string): Promise<void> {
    if (this.#done.has(id)) return Promise.resolve()
    const underWay = this.#underWay.get(id) ?? this.#finish(id).finally(() => this.#underWay.delete(id))
    this.#underWay.set(id, underWay)
    return underWay
  }

  async #finish(id: string): Promise<void> {
    for (;;) {
      const range = { ...this.#keys.journal(id), limit: 1 }
      const { outcomes } = await this.#etcd.txn({ compare: [], success: [{ range }] })
      const [chunk] = foundIn(outcomes[0]).kvs
      if (!chunk || chunk.key === this.markOf(id)) break
      const { key, value, createRevision: revision } = chunk
      const parts = smallParts(JSON.parse(value))
      parts.at(-1)!.push({ delete: { key } })
      for (const some of parts) {
        await this.#etcd.txn({
          // Another process may have carried it out, and the resource may have gone on since.
          compare: [{ key, target: 'create', is: 'equal', revision }],
          success: some,
        })
      }
    }
    this.#done.set(id, await this.discard(id))
    if (this.#done.size > DONE) this.#done.delete(this.#done.keys().next().value!)
  }
}

function chunksOf(operations: readonly Operation[]): Operation[][] {
  const chunks: Operation[][] = [[]]
  let units = 0
  for (const operation of operations) {
    const size = JSON.stringify(operation).length
    if (units > 0 && units + size > CHUNK_UNITS) {
      chunks.push([])
      units = 0
    }
    chunks.at(-1)!.push(operation)
    units += size
  }
  return chunks
}
