import { type StoreEvent, StoreUnavailable, UnknownOutcome } from '../store.ts'
import { frameOf } from './frame.ts'
import type { Log } from './log.ts'

interface Batch {
  readonly log: Log
  readonly entries: string[]
  readonly events: StoreEvent[]
  readonly durable: Promise<void>
  resolve(): void
  reject(error: Error): void
}

interface GroupCommitOptions {
  readonly log: Log
  /** Puts off the beginning of a write, so that everything of this turn goes with it. */
  readonly defer: (begin: () => void) => void
  /** What has to be on the disk before what was added so far; nothing where there is nothing. */
  readonly beforeWrite: () => Promise<void> | undefined
  /** Called in order, before those are answered who wait for it. */
  readonly onDurable: (events: readonly StoreEvent[]) => void
  /** Called once: nothing that is added later will be written. */
  readonly onFailed: (error: Error) => void
}

/**
 * One write and one sync at a time, for everything that has come up since the last one began. Nobody hears of anything
 * before the sync that covers it.
 */
export class GroupCommit {
  readonly #options: GroupCommitOptions
  /** The last one is still being filled. */
  readonly #batches: Batch[] = []
  #log: Log
  #writing: Batch | undefined
  #deferred = false
  #failure: Error | undefined
  /** The log whose last write could not be taken back yet. */
  #uncut: Log | undefined

  constructor(options: GroupCommitOptions) {
    this.#options = options
    this.#log = options.log
  }

  /** The log that is being written to. */
  get log(): Log {
    return this.#log
  }

  add(entry: string, events: readonly StoreEvent[]): void {
    const batch = this.#open()
    batch.entries.push(entry)
    for (const event of events) batch.events.push(event)
  }

  /** Events of what is in the log already, or follows from it. */
  carry(events: readonly StoreEvent[]): void {
    const batch = this.#open()
    for (const event of events) batch.events.push(event)
  }

  /** Everything that has been added so far is on the disk. */
  durable(): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure)
    return (this.#batches.at(-1) ?? this.#writing)?.durable ?? Promise.resolve()
  }

  /** What is added from now on goes to this log, after all that came before is durable in the other. */
  switchTo(log: Log): void {
    this.#log = log
  }

  /** Takes back what a failed write may have left. Until that is done, what the disk says cannot be built upon. */
  async mend(): Promise<boolean> {
    if (this.#uncut && !(await this.#uncut.cut())) return false
    this.#uncut = undefined
    return true
  }

  #open(): Batch {
    const last = this.#batches.at(-1)
    if (last?.log === this.#log) return last
    const batch = newBatch(this.#log)
    if (this.#failure) batch.reject(this.#failure)
    else this.#batches.push(batch)
    if (!this.#writing && !this.#deferred) {
      this.#deferred = true
      this.#options.defer(() => {
        this.#deferred = false
        void this.#writeAll()
      })
    }
    return batch
  }

  async #writeAll(): Promise<void> {
    if (this.#writing) return
    for (let batch = this.#batches.shift(); batch; batch = this.#batches.shift()) {
      this.#writing = batch
      try {
        const first = this.#options.beforeWrite()
        if (first) await first
        if (batch.entries.length > 0) await batch.log.append(frameOf(`[${batch.entries.join(',')}]`))
      } catch (cause) {
        await this.#fail(batch, cause as Error)
        return
      }
      this.#writing = undefined
      this.#options.onDurable(batch.events)
      batch.resolve()
    }
  }

  /** What came after the failed write was decided on what it would have changed: it fails too. */
  async #fail(batch: Batch, cause: Error): Promise<void> {
    this.#uncut = batch.log
    const isCut = await this.mend()
    this.#failure = isCut
      ? new StoreUnavailable(`the disk did not take it (${cause.message})`, { cause })
      : new UnknownOutcome(`the disk failed (${cause.message}), and whether it took it is not known`, { cause })
    this.#options.onFailed(this.#failure)
    for (const each of [batch, ...this.#batches.splice(0)]) each.reject(this.#failure)
    this.#writing = undefined
  }
}

function newBatch(log: Log): Batch {
  let resolve: () => void = () => {}
  let reject: (error: Error) => void = () => {}
  const durable = new Promise<void>((resolved, rejected) => {
    resolve = resolved
    reject = rejected
  })
  // Not everybody who adds something waits for it.
  durable.catch(() => {})
  return { log, entries: [], events: [], durable, resolve, reject }
}
