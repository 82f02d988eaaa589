import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ClientClock, pause } from '@baton-lock/client/internal'
import { digestOf, hexOf } from '../blobs/digest.ts'

/** `add`: this node uses a blob. `drop`: it does not any more, and nobody may. */
export type Message = 'add' | 'drop'

interface Entry {
  readonly message: Message
  readonly digest: string
  readonly path: string
}

interface PendingOptions {
  readonly folder: string
  readonly clock: ClientClock
  /** Tells the lock server. What it throws is tried again later; a signal that aborts says that it need not be told any more. */
  readonly tell: (message: Message, digest: string, signal: AbortSignal) => Promise<void>
}

const NAME = /^(\d+)-(add|drop)-([0-9a-f]{64})$/
const AT_A_TIME = 8
const AGAIN_MS = 1_000

/** What the lock server has yet to be told: on disk, and in the order of each blob, however often the server is away. */
export class Pending {
  readonly #options: PendingOptions
  readonly #queues = new Map<string, Entry[]>()
  readonly #telling = new Map<string, { readonly stop: AbortController; readonly done: Promise<void> }>()
  readonly #closed = new AbortController()
  #last = 0

  constructor(options: PendingOptions) {
    this.#options = options
  }

  /** What an earlier process could not tell. */
  async load(): Promise<void> {
    const { folder } = this.#options
    for (const name of (await readdir(folder)).sort()) {
      const [, number, message, hex] = NAME.exec(name) ?? []
      if (hex === undefined) continue
      this.#last = Math.max(this.#last, Number(number))
      this.#enqueue({ message: message as Message, digest: digestOf(hex), path: join(folder, name) })
    }
    this.#start()
  }

  /** How many there are. */
  get size(): number {
    let size = 0
    for (const queue of this.#queues.values()) size += queue.length
    return size
  }

  has(digest: string): boolean {
    return this.#queues.has(digest)
  }

  /** Resolves when it is on disk; it is told after that. */
  async add(message: Message, digest: string): Promise<void> {
    const number = String(++this.#last).padStart(12, '0')
    const path = join(this.#options.folder, `${number}-${message}-${hexOf(digest)}`)
    await writeFile(path, '')
    this.#enqueue({ message, digest, path })
    this.#start()
  }

  /** Resolves when all is told that there is to tell of a blob. */
  async told(digest: string): Promise<void> {
    while (this.#queues.has(digest) && !this.#closed.signal.aborted) {
      await (this.#telling.get(digest)?.done ??
        pause(this.#options.clock, AGAIN_MS, this.#closed.signal).catch(() => {}))
    }
  }

  /**
   * What has not been told of a blob yet need not be: it is asked for anew. Resolves when nothing of it is under way, and says
   * whether there was anything.
   */
  async withdraw(digest: string): Promise<boolean> {
    const queue = this.#queues.get(digest)
    if (!queue) return false
    this.#queues.delete(digest)
    const telling = this.#telling.get(digest)
    telling?.stop.abort(new Error('withdrawn'))
    await telling?.done
    for (const { path } of queue) await rm(path, { force: true })
    return true
  }

  async close(): Promise<void> {
    this.#closed.abort(new Error('closed'))
    for (const { stop } of this.#telling.values()) stop.abort(new Error('closed'))
    await Promise.all([...this.#telling.values()].map(({ done }) => done))
  }

  #enqueue(entry: Entry): void {
    const queue = this.#queues.get(entry.digest)
    if (queue) queue.push(entry)
    else this.#queues.set(entry.digest, [entry])
  }

  #start(): void {
    for (const digest of this.#queues.keys()) {
      if (this.#telling.size >= AT_A_TIME || this.#closed.signal.aborted) return
      if (this.#telling.has(digest)) continue
      const stop = new AbortController()
      const done = this.#tellAll(digest, stop.signal).finally(() => {
        this.#telling.delete(digest)
        this.#start()
      })
      this.#telling.set(digest, { stop, done })
    }
  }

  async #tellAll(digest: string, signal: AbortSignal): Promise<void> {
    const { clock, tell } = this.#options
    for (;;) {
      const queue = this.#queues.get(digest)
      const entry = queue?.[0]
      if (!queue || !entry || signal.aborted) return
      try {
        await tell(entry.message, digest, signal)
      } catch {
        if (signal.aborted) return
        await pause(clock, AGAIN_MS, signal).catch(() => {})
        continue
      }
      await rm(entry.path, { force: true })
      queue.shift()
      if (queue.length === 0 && this.#queues.get(digest) === queue) this.#queues.delete(digest)
    }
  }
}
