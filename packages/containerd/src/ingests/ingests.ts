import { createHash } from 'node:crypto'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ContentError } from '../errors.ts'
import { Ingest } from './ingest.ts'

/** What nobody has gone on with for so long is removed. */
const STALE_MS = 24 * 3_600_000

/** All that comes in on this node, by containerd's names for them. One writer each. */
export class Ingests {
  readonly #folder: string
  readonly #ingests = new Map<string, Ingest>()
  /** Those with a writer. */
  readonly #taken = new Set<string>()

  private constructor(folder: string) {
    this.#folder = folder
  }

  static async load(folder: string): Promise<Ingests> {
    const ingests = new Ingests(folder)
    for (const name of await readdir(folder)) {
      try {
        const ingest = await Ingest.load(join(folder, name))
        ingests.#ingests.set(ingest.ref, ingest)
      } catch {
        // The process ended before it was begun.
        await rm(join(folder, name), { recursive: true, force: true })
      }
    }
    return ingests
  }

  /** The one to write to: that of an earlier writer, or a new one. Refused while another writer has it. */
  async take({ ref, total, nowMs }: { ref: string; total: number; nowMs: number }): Promise<Ingest> {
    if (this.#taken.has(ref)) throw new ContentError('in-progress', `${ref} is being written already; try again`)
    this.#taken.add(ref)
    try {
      const ingest = this.#ingests.get(ref) ?? (await this.#create(ref, total, nowMs))
      ingest.expect(total)
      return ingest
    } catch (error) {
      this.#taken.delete(ref)
      throw error
    }
  }

  /** Its writer is done with it; `isOver`: and so is everybody, it has been published or discarded. */
  give(ref: string, { isOver }: { readonly isOver: boolean }): void {
    this.#taken.delete(ref)
    if (isOver) this.#ingests.delete(ref)
  }

  get(ref: string): Ingest | undefined {
    return this.#ingests.get(ref)
  }

  all(): Iterable<Ingest> {
    return this.#ingests.values()
  }

  isTaken(ref: string): boolean {
    return this.#taken.has(ref)
  }

  /** Those that nobody goes on with. Returns how many there were. */
  async removeStale(nowMs: number): Promise<number> {
    const stale = [...this.#ingests.values()].filter(
      ({ ref, updatedAtMs }) => !this.#taken.has(ref) && nowMs - updatedAtMs > STALE_MS,
    )
    for (const ingest of stale) await this.remove(ingest)
    return stale.length
  }

  async remove(ingest: Ingest): Promise<void> {
    this.#ingests.delete(ingest.ref)
    await ingest.discard()
  }

  async #create(ref: string, total: number, nowMs: number): Promise<Ingest> {
    const folder = join(this.#folder, createHash('sha256').update(ref).digest('hex'))
    await rm(folder, { recursive: true, force: true })
    await mkdir(folder)
    const ingest = await Ingest.create(folder, { ref, total, startedAtMs: nowMs })
    this.#ingests.set(ref, ingest)
    return ingest
  }
}
