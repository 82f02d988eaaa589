import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { digestOf, hexOf, isDigest } from './digest.ts'
import { writeDurably } from './durable.ts'

/** A blob that containerd on this node counts on. */
export interface Use {
  readonly size: number
  readonly atMs: number
}

/** Which blobs this node uses, whoever wrote them: what Info and List answer from. On disk, and in memory. */
export class Uses {
  readonly #folder: string
  readonly #uses: Map<string, Use>

  private constructor(folder: string, uses: Map<string, Use>) {
    this.#folder = folder
    this.#uses = uses
  }

  static async load(folder: string): Promise<Uses> {
    const uses = new Map<string, Use>()
    for (const name of await readdir(folder)) {
      // What was being written when the process ended was not acknowledged.
      if (!isDigest(digestOf(name))) await rm(join(folder, name), { force: true })
      else uses.set(digestOf(name), JSON.parse(await readFile(join(folder, name), 'utf8')))
    }
    return new Uses(folder, uses)
  }

  get(digest: string): Use | undefined {
    return this.#uses.get(digest)
  }

  all(): ReadonlyMap<string, Use> {
    return this.#uses
  }

  async add(digest: string, use: Use): Promise<void> {
    if (this.#uses.get(digest)?.size === use.size) return
    await writeDurably(join(this.#folder, hexOf(digest)), JSON.stringify(use))
    this.#uses.set(digest, use)
  }

  /** Whether it was used. */
  async remove(digest: string): Promise<boolean> {
    const isUsed = this.#uses.delete(digest)
    if (isUsed) await rm(join(this.#folder, hexOf(digest)), { force: true })
    return isUsed
  }
}
