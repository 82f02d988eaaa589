import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { sleep } from '../harness/link.ts'
import type { SeenCopy, SeenGet } from './fetch-check.ts'
import { nowMs, type SoakLog } from './soak-log.ts'

interface WatchOptions {
  readonly nodes: readonly { readonly name: string; readonly root: string }[]
  /** GETs so far, in their order; each goes on counting its bytes. */
  readonly gets: () => readonly Omit<SeenGet, 'afterMs' | 'byMs' | 'lastByteMs'>[]
  readonly log: SoakLog
}

type Mutable<Value> = { -readonly [Key in keyof Value]: Value[Key] }

const LOOK_MS = 25
/** A copy is put aside and back where a node publishes it at that moment: that takes less. */
const MISSING_MS = 1_000

/**
 * Looks again and again at who has which blob, and at what was fetched. A look takes some time, and something may happen
 * between two of them: of each change only the look before and the look after it are known, and the checks count on no more.
 */
export class BlobWatch {
  readonly gets: Mutable<SeenGet>[] = []
  readonly copies: Mutable<SeenCopy>[] = []
  readonly #options: WatchOptions
  readonly #present = new Map<string, Mutable<SeenCopy>>()
  readonly #missingSince = new Map<string, number>()
  #lastLookMs = nowMs()
  #isOver = false
  #watching: Promise<void> | undefined

  constructor(options: WatchOptions) {
    this.#options = options
  }

  start(): void {
    this.#watching = this.#watch()
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#watching
  }

  async #watch(): Promise<void> {
    while (!this.#isOver) {
      this.look()
      await sleep(LOOK_MS)
    }
  }

  look(): void {
    const startMs = nowMs()
    this.#lookAtGets(startMs)
    // Uses first: what is used then is there, until its use is gone.
    const uses = this.#options.nodes.map(({ name, root }) => ({
      name,
      used: listed(join(root, 'host', '.baton', 'uses')),
    }))
    const readable = this.#lookAtCopies(startMs)
    for (const { name, used } of uses) this.#expectReadable(name, used, readable)
    this.#lastLookMs = startMs
  }

  #lookAtGets(atMs: number): void {
    const seen = this.#options.gets()
    for (const [place, { node, digest, startByte, bytes }] of seen.entries()) {
      const get = this.gets[place]
      if (!get) {
        this.gets.push({ node, digest, startByte, bytes, afterMs: this.#lastLookMs, byMs: atMs, lastByteMs: atMs })
      } else if (get.bytes !== bytes) Object.assign(get, { bytes, lastByteMs: atMs })
    }
  }

  #lookAtCopies(startMs: number): ReadonlySet<string> {
    const readable = new Set<string>()
    const present = new Set<string>()
    for (const { name, root } of this.#options.nodes) {
      for (const hex of listed(join(root, 'host', 'blobs', 'sha256'))) {
        const key = `${name} ${hex}`
        readable.add(hex)
        present.add(key)
        const known = this.#present.get(key)
        if (known) known.untilMs = startMs
        else {
          const endMs = nowMs()
          const copy = { node: name, digest: `sha256:${hex}`, sinceMs: endMs, untilMs: endMs }
          this.#present.set(key, copy)
          this.copies.push(copy)
        }
      }
    }
    for (const key of this.#present.keys()) if (!present.has(key)) this.#present.delete(key)
    return readable
  }

  #expectReadable(node: string, used: readonly string[], readable: ReadonlySet<string>): void {
    const isUsed = new Set(used)
    for (const hex of used) {
      const key = `${node} ${hex}`
      if (hex.length !== 64 || readable.has(hex)) this.#missingSince.delete(key)
      else if (!this.#missingSince.has(key)) this.#missingSince.set(key, nowMs())
      else if (nowMs() - this.#missingSince.get(key)! > MISSING_MS) {
        this.#options.log.violated('missing', `sha256:${hex}`, `${node} uses it, and it is in no node's folder`)
        this.#missingSince.set(key, Number.POSITIVE_INFINITY)
      }
    }
    for (const key of this.#missingSince.keys()) {
      const [name, hex] = key.split(' ')
      if (name === node && !isUsed.has(hex!)) this.#missingSince.delete(key)
    }
  }
}

function listed(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
