import { join, resolve } from 'node:path'
import type { Command, Facts, Policy } from '@baton-lock/core'
import type { BackedUp, Backup, OpenStoreOptions } from '../kind.ts'
import { Listeners } from '../resident/listeners.ts'
import type { StepTaken } from '../resident/resident.ts'
import {
  type Address,
  type AskAt,
  type Clock,
  type Counts,
  type EventListener,
  type ListQuery,
  type Pace,
  type Page,
  type Place,
  type QueueDepth,
  type SessionReply,
  type SessionRequest,
  type StepReply,
  type Store,
  StoreUnavailable,
  type VersionedPolicy,
} from '../store.ts'
import { systemTiming, type Timing } from '../timing.ts'
import { type Leases, type View, Views } from '../views.ts'
import { checkFormat, isOfStore, storeId, unfinished, writeFormat } from './directory.ts'
import { type Disk, type DiskFile, nodeDisk, probe } from './disk.ts'
import { doubtOf, FENCE_BLOCK, logDoubt, writeReserved } from './fences.ts'
import { readStore, type StoreRead } from './read-store.ts'
import { Running, type RunningOptions } from './running.ts'

/** All but the directory and the clock has a default. */
export interface FileStoreOptions extends Pick<OpenStoreOptions, 'log' | 'onFound' | 'onSession'> {
  readonly directory: string
  readonly clock: Clock
  /** The policy of a new store. In an existing one it replaces the policy if it differs from the one of the last start. */
  readonly policy?: Policy
  /** A log of more bytes is followed by a snapshot. */
  readonly logLimit?: number
  /** About so many resources without grants and waiters are ready for steps; the others are kept as text. */
  readonly liveLimit?: number
  /** How many fences are reserved at a time. */
  readonly fenceBlock?: number
  /** How long after a failure the disk is tried again. */
  readonly retryMs?: number
  readonly timing?: Pick<Timing, 'after' | 'uniqueName'>
  readonly disk?: Disk
  /** Called with every step, in order. For the checkers of histories. */
  readonly onStep?: (step: StepTaken) => void
  /** Delays a write until the end of the current turn of the event loop. */
  readonly defer?: (begin: () => void) => void
}

/**
 * Keeps everything in a directory: what was acknowledged survives the end of the process and of the machine. The state is in
 * memory. Commands go to a log before they are answered.
 */
export async function openFileStore(options: FileStoreOptions): Promise<Store & BackedUp> {
  const { directory, disk = nodeDisk(), timing = systemTiming } = options
  await disk.makeDirectory(directory)
  const release = await disk.lock(directory)
  try {
    const isNew = !(await disk.list(directory)).some(isOfStore)
    const isThere = await checkFormat(disk, directory)
    const id = await storeId(disk, directory, timing.uniqueName)
    const store = new FileStore({ id, isThere, release }, { ...options, disk })
    await store.start()
    options.onFound?.({ at: resolve(directory), isNew })
    return store
  } catch (error) {
    await release()
    throw error
  }
}

/** A sweep is a turn of the event loop in which others wait. Each of these steps may have to parse its resource. */
const SWEEP = 200

type Settled = FileStoreOptions & { readonly disk: Disk }

interface Opened {
  readonly id: string
  /** Whether there was a store in the directory. */
  readonly isThere: boolean
  readonly release: () => Promise<void>
}

class FileStore extends Views implements Store, BackedUp {
  readonly id: string
  readonly #options: Settled
  readonly #release: () => Promise<void>
  #isThere: boolean
  readonly #listeners = new Listeners()
  /** `undefined` while the disk fails. */
  #running: Running | undefined
  /** Why the store is not available. */
  #trouble = 'the store is not open yet'
  #isClosed = false
  /** The last one that failed. Its last write may still have to be truncated. */
  #failed: Running | undefined
  #starting: Promise<void> | undefined
  #cancelRetry = () => {}
  /** How far the clock is behind the times in the log. Time never goes back. */
  #aheadMs = 0

  constructor({ id, isThere, release }: Opened, options: Settled) {
    super()
    this.id = id
    this.#options = options
    this.#isThere = isThere
    this.#release = release
    options.clock.onCatchUp?.((isCatchingUp) => {
      if (this.#running) this.#running.resident.spares = isCatchingUp
    })
  }

  /** Reads the disk and continues from there. */
  async start(): Promise<void> {
    const { disk, directory, liveLimit, logLimit = 4 * 1024 * 1024, defer = setImmediate } = this.#options
    const { policy: configured, fenceBlock: block = FENCE_BLOCK } = this.#options
    const read = await readStore({ disk, directory, liveLimit })
    const doubt = doubtOf(read, this.#failed?.ends)
    const upTo = await this.#takeUp(read)
    this.#aheadMs = Math.max(this.#aheadMs, read.lastMs - this.#options.clock.nowMs())
    const options: RunningOptions = {
      disk,
      directory,
      id: this.id,
      listeners: this.#listeners,
      defer,
      logLimit,
      fences: { upTo, block },
      onStep: this.#options.onStep,
      onSession: this.#options.onSession,
      onFailed: (error) => this.#fail(running, error),
    }
    const running: Running = await Running.from(read, options)
    try {
      await running.restart(this.nowMs(), { configured, fenceFloor: doubt?.fenceFloor })
    } catch (error) {
      this.#failed = running
      await running.abandon()
      throw error
    }
    this.#running = running
    if (doubt) logDoubt(this.#options.log, directory, doubt)
  }

  /** Marks the directory as open, and a new one as a store. Returns up to where fences are reserved. */
  async #takeUp({ reserved, resident }: StoreRead): Promise<number> {
    const { disk, directory } = this.#options
    const upTo = reserved?.upTo ?? resident.shards.highestFence()
    if (!reserved || reserved.closedAt) await writeReserved(disk, directory, { upTo })
    if (!this.#isThere) await writeFormat(disk, directory)
    this.#isThere = true
    return upTo
  }

  nowMs(): number {
    return this.#options.clock.nowMs() + this.#aheadMs
  }

  step<C extends Command>(address: Address, command: C, facts?: Facts): StepReply<C> {
    return this.#served().resident.step(address, { command, facts, nowMs: this.nowMs() })
  }

  durable(): Promise<void> {
    return this.#served().durable()
  }

  acknowledge(ask: AskAt): void {
    this.#running?.resident.acknowledge(ask, this.nowMs())
  }

  async list(query: ListQuery, pace?: Pace): Promise<Page> {
    const running = this.#served()
    const page = await running.resident.list(query, { clock: this, pace })
    await running.durable()
    return page
  }

  openSession(request: SessionRequest): Promise<SessionReply> {
    return this.#commit(({ resident }, nowMs) => resident.openSession(request, nowMs))
  }

  renewSession(session: string): Promise<SessionReply> {
    return this.#commit(({ resident }, nowMs) => resident.renewSession(session, nowMs))
  }

  closeSession(session: string): Promise<void> {
    return this.#commit(({ resident }, nowMs) => resident.closeSession(session, nowMs))
  }

  places(session: string, limit?: number): Promise<readonly Place[] | undefined> {
    return this.#commit(({ resident }) => resident.places(session, limit))
  }

  sweep(limit: number): Promise<void> {
    return this.#commit(({ resident }, nowMs) => resident.sweep(Math.min(limit, SWEEP), nowMs))
  }

  nextDeadlineMs(): number | undefined {
    // While the disk fails it is tried again at every sweep.
    return this.#running ? this.#running.resident.nextDeadlineMs() : this.nowMs()
  }

  subscribe(listener: EventListener): () => void {
    return this.#listeners.add(listener)
  }

  policy(): Promise<VersionedPolicy> {
    return this.#commit(({ resident: { policy } }) => ({ version: policy.version, policy: policy.policy }))
  }

  applyPolicy(policy: Policy, expectedVersion: number): Promise<VersionedPolicy & { readonly applied: boolean }> {
    return this.#commit((running) => running.applyPolicy(policy, expectedVersion))
  }

  async hearAll(): Promise<void> {}

  async counts(): Promise<Counts> {
    return this.#running?.resident.counts() ?? { resources: 0, grants: 0, waiters: 0, sessions: 0 }
  }

  waiting(): number {
    return this.#running?.resident.counts().waiters ?? 0
  }

  async queues(): Promise<readonly QueueDepth[]> {
    return this.#running?.resident.queues.list() ?? []
  }

  sessionsOf(node: string): number {
    return this.#running?.resident.sessions.countOf(node) ?? 0
  }

  sessionsOfPrefix(prefix: string): number {
    return this.#running?.resident.sessions.countOfPrefix(prefix) ?? 0
  }

  async backup(): Promise<Backup> {
    const file = await this.#served()
      .backup()
      .catch((cause: Error) => {
        throw new StoreUnavailable(`the backup could not be written (${cause.message}); nothing was changed`, { cause })
      })
    const bytes = await file.size()
    return { bytes, chunks: chunksOf(file, bytes) }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#cancelRetry()
    await this.#starting
    this.#trouble = 'the store is closed'
    const running = this.#running
    this.#running = undefined
    this.#listeners.clear()
    await running?.close().catch(() => {})
    await this.#release()
  }

  /** Runs at once. Resolves when all changes that the answer depends on are durable. */
  async #commit<Answer>(run: (running: Running, nowMs: number) => Answer): Promise<Answer> {
    const running = this.#served()
    const answer = run(running, this.nowMs())
    await running.durable()
    return answer
  }

  #served(): Running {
    if (!this.#running) throw new StoreUnavailable(this.#trouble)
    return this.#running
  }

  protected leasesOf(sessions: readonly string[]): Leases {
    return this.#served().resident.sessions.leasesOf(sessions)
  }

  protected inspect<Result>(address: Address, view: View<Result>): Promise<Result | undefined> {
    return this.#commit(({ resident }, nowMs) => resident.inspect(address, nowMs, view))
  }

  /** The state in memory is ahead of the disk now, and must not be seen: everything is read from the disk again. */
  #fail(running: Running, error: Error): void {
    if (this.#running !== running) return
    this.#running = undefined
    this.#failed = running
    this.#trouble = error.message
    this.#starting = running.abandon().then(() => this.#startAgain())
  }

  async #startAgain(): Promise<void> {
    if (this.#isClosed) return
    try {
      // Before everything is read, which takes time, the disk has to take a write.
      await probe(this.#options.disk, join(this.#options.directory, unfinished('probe')))
      if (!(await this.#failed!.mend())) throw new Error('could not truncate the failed write')
      await this.start()
      this.#failed = undefined
    } catch (error) {
      this.#trouble = (error as Error).message
      const { timing = systemTiming, retryMs = 500 } = this.#options
      this.#cancelRetry = timing.after(retryMs, () => {
        this.#starting = this.#startAgain()
      })
    }
  }
}

/** The memory that a client takes which reads slowly. */
const CHUNK = 256 * 1024

/** Closes the file at the end, after an error, and on `return`, which a generator that was never started would ignore. */
function chunksOf(file: DiskFile, bytes: number): Backup['chunks'] {
  let position = 0
  const end = async () => {
    position = bytes
    await file.close()
    return { done: true, value: undefined } as const
  }
  return {
    async next() {
      const chunk = Buffer.allocUnsafe(Math.min(CHUNK, bytes - position))
      if (chunk.length === 0) return end()
      await file.read(chunk, position)
      position += chunk.length
      return { done: false, value: chunk }
    },
    return: end,
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
