import { readFile } from 'node:fs/promises'
import type { ClientClock } from '@baton-lock/client/internal'
import { writeDurably } from './blobs/durable.ts'

/** What a node has fetched, and what it did not have to. */
export interface Counts {
  /** Blobs that this node fetched, and their bytes. */
  readonly fetched: { readonly gets: number; readonly bytes: number }
  /** Blobs that this node uses and did not fetch: another node had. */
  readonly saved: { readonly gets: number; readonly bytes: number }
  /** Of those fetched, those that were fetched without asking: no lock server answered. */
  readonly uncoordinated: number
}

const SAVE_MS = 2_000

/** Counts that outlive the process, but for the last seconds of one that is killed. */
export class Counters {
  readonly #path: string
  readonly #clock: ClientClock
  #counts: Counts
  #callOff: (() => void) | undefined
  #saving: Promise<void> = Promise.resolve()

  private constructor(path: string, clock: ClientClock, counts: Counts) {
    this.#path = path
    this.#clock = clock
    this.#counts = counts
  }

  static async load(path: string, clock: ClientClock): Promise<Counters> {
    const none: Counts = { fetched: { gets: 0, bytes: 0 }, saved: { gets: 0, bytes: 0 }, uncoordinated: 0 }
    const text = await readFile(path, 'utf8').catch(() => '')
    return new Counters(path, clock, text === '' ? none : JSON.parse(text))
  }

  get counts(): Counts {
    return this.#counts
  }

  fetched(bytes: number): void {
    const { fetched } = this.#counts
    this.#change({ fetched: { gets: fetched.gets + 1, bytes: fetched.bytes + bytes } })
  }

  saved(bytes: number): void {
    const { saved } = this.#counts
    this.#change({ saved: { gets: saved.gets + 1, bytes: saved.bytes + bytes } })
  }

  uncoordinated(): void {
    this.#change({ uncoordinated: this.#counts.uncoordinated + 1 })
  }

  async close(): Promise<void> {
    this.#callOff?.()
    this.#save()
    await this.#saving
  }

  #change(change: Partial<Counts>): void {
    this.#counts = { ...this.#counts, ...change }
    this.#callOff ??= this.#clock.after(SAVE_MS, () => this.#save())
  }

  #save(): void {
    this.#callOff = undefined
    const text = JSON.stringify(this.#counts)
    // Figures for people: a disk that is full is told where it matters.
    this.#saving = this.#saving.then(() => writeDurably(this.#path, text)).catch(() => {})
  }
}
