import type { AddressedEvent } from '@baton-lock/core'
import { StoreUnavailable, UnknownOutcome } from '../store.ts'
import type { Log } from './log.ts'
import { frameOf } from './log-record.ts'

interface Batch {
  readonly log: Log
  readonly entries: string[]
  readonly events: AddressedEvent[]
  readonly durable: Promise<void>
  resolve(): void
  reject(error: Error): void
}

interface GroupCommitOptions {
  readonly log: Log
  /** Delays a write until the end of the current turn, so that it includes all entries of the turn. */
  readonly defer: (begin: () => void) => void
  /** What has to be durable before the entries so far. `undefined` if it is already. */
  readonly beforeWrite: () => Promise<void> | undefined
  /** Called in order, before the promises of `durable` resolve. */
  readonly onDurable: (events: readonly AddressedEvent[]) => void
  /** Called once. Nothing that is added later will be written. */
  readonly onFailed: (error: Error) => void
}

/** One write and one sync at a time, for all entries since the last one began. Events are delivered after the sync. */
export class GroupCommit {
  readonly #options: GroupCommitOptions
  /** Entries are added to the last one. */
  readonly #batches: Batch[] = []
  #log: Log
  #writing: Batch | undefined
  #deferred = false
  #failure: Error | undefined
  /** A log with a failed write that could not be truncated yet. */
  #uncut: Log | undefined

  constructor(options: GroupCommitOptions) {
    this.#options = options
    this.#log = options.log
  }

  /** The log that entries are added to. */
  get log(): Log {
    return this.#log
  }

  add(entry: string, events: readonly AddressedEvent[]): void {
    const batch = this.#open()
    batch.entries.push(entry)
    for (const event of events) batch.events.push(event)
  }

  /** Adds events of steps that another entry covers. */
  carry(events: readonly AddressedEvent[]): void {
    const batch = this.#open()
    for (const event of events) batch.events.push(event)
  }

  /** Resolves when all entries so far are durable. */
  durable(): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure)
    return (this.#batches.at(-1) ?? this.#writing)?.durable ?? Promise.resolve()
  }

  /** Entries that are added from now on go to this log, after all before them are durable in the other. */
  switchTo(log: Log): void {
    this.#log = log
  }

  /** Truncates what a failed write may have left. The disk must not be read before that has succeeded. */
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

  /** Later entries were decided on the state after the failed write, so they fail too. */
  async #fail(batch: Batch, cause: Error): Promise<void> {
    this.#uncut = batch.log
    const isCut = await this.mend()
    this.#failure = isCut
      ? new StoreUnavailable(`the disk could not be written (${cause.message}); nothing was changed`, { cause })
      : new UnknownOutcome(`the disk failed (${cause.message}); whether the change was written is not known`, { cause })
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
  // A rejection that nobody waits for is no error of the process.
  durable.catch(() => {})
  return { log, entries: [], events: [], durable, resolve, reject }
}
