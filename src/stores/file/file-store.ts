import { resolve } from 'node:path'
import type { Command, Facts, Policy, Refused, ReplyTo } from '../../core/index.ts'
import type { OpenStoreOptions } from '../kind.ts'
import { Listeners } from '../resident/listeners.ts'
import type { StepTaken } from '../resident/resident.ts'
import {
  type Address,
  type Clock,
  type Counts,
  type DirectSteps,
  type ListQuery,
  type Pace,
  type Page,
  type Place,
  type QueueDepth,
  type SessionReply,
  type SessionRequest,
  type Store,
  type StoreEvent,
  StoreUnavailable,
  type VersionedPolicy,
} from '../store.ts'
import { systemTiming, type Timing } from '../timing.ts'
import { type Leases, type View, Views } from '../views.ts'
import { checkFormat, isOfStore, storeId, writeFormat } from './directory.ts'
import type { Disk } from './disk.ts'
import { doubtOf, logDoubt } from './doubt.ts'
import { nodeDisk } from './node-disk.ts'
import { probe } from './probe.ts'
import { readStore, type StoreRead } from './read-store.ts'
import { FENCE_BLOCK, writeReserved } from './reserved-fences.ts'
import { Running, type RunningOptions } from './running.ts'

/** All but the directory and the clock has a default. */
export interface FileStoreOptions extends Pick<OpenStoreOptions, 'log' | 'onFound' | 'onSession'> {
  readonly directory: string
  readonly clock: Clock
  /** What a new store begins with; in one that is there, it replaces the policy if it is another than last time. */
  readonly policy?: Policy
  /** A log longer than this many bytes is followed by a snapshot. */
  readonly logLimit?: number
  /** About how many resources are kept ready in memory; the others are kept as text. */
  readonly liveLimit?: number
  /** So many fences are reserved at a time. */
  readonly fenceBlock?: number
  /** After a failure of the disk, how long until it is tried again. */
  readonly retryMs?: number
  readonly timing?: Pick<Timing, 'after' | 'uniqueName'>
  readonly disk?: Disk
  /** Told of every step as it is taken, in order: for those who check histories. */
  readonly onStep?: (step: StepTaken) => void
  /** Puts off the beginning of a write, so that everything of this turn goes with it. */
  readonly defer?: (begin: () => void) => void
}

/**
 * Keeps everything in a directory: what was acknowledged survives the end of the process and of the machine. The state
 * is in memory, and what is done to it goes to a log before anybody hears of it.
 */
export async function openFileStore(options: FileStoreOptions): Promise<Store> {
  const { directory, disk = nodeDisk(), timing = systemTiming } = options
  await disk.makeDirectory(directory)
  const release = await disk.lock(directory)
  try {
    const isNew = !(await disk.list(directory)).some(isOfStore)
    const isMarked = await checkFormat(disk, directory)
    const id = await storeId(disk, directory, timing.uniqueName)
    const store = new FileStore({ id, isMarked, release }, { ...options, disk })
    await store.start()
    options.onFound?.({ at: resolve(directory), isNew })
    return store
  } catch (error) {
    await release()
    throw error
  }
}

/** So many are swept at a time: each may have to be read from its text, and others wait. */
const SWEEP = 200

type Settled = FileStoreOptions & { readonly disk: Disk }

interface Opened {
  readonly id: string
  /** As this version's. */
  readonly isMarked: boolean
  readonly release: () => Promise<void>
}

class FileStore extends Views implements Store {
  readonly id: string
  readonly direct: DirectSteps = {
    step: (address, command, facts) => this.#served().resident.step(address, { command, facts, nowMs: this.nowMs() }),
    durable: () => this.#served().durable(),
    acknowledge: (ask) => this.#running?.resident.acknowledge(ask, this.nowMs()),
  }
  readonly #options: Settled
  readonly #release: () => Promise<void>
  #isMarked: boolean
  readonly #listeners = new Listeners()
  /** Nothing while the disk fails. */
  #running: Running | undefined
  /** Why not, for those who ask meanwhile. */
  #trouble = 'the store is not open yet'
  #isClosed = false
  /** The last one that failed: what it has tried to write may still have to be taken back. */
  #failed: Running | undefined
  #starting: Promise<void> | undefined
  #cancelRetry = () => {}
  /** Time never goes back: what the clock lacks to what was written before. */
  #aheadMs = 0

  constructor({ id, isMarked, release }: Opened, options: Settled) {
    super()
    this.id = id
    this.#options = options
    this.#isMarked = isMarked
    this.#release = release
    options.clock.onCatchUp?.((isCatchingUp) => {
      if (this.#running) this.#running.resident.spares = isCatchingUp
    })
  }

  /** Reads the disk and goes on from there. Throws if it cannot. */
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

  /** Before anything is added: the directory is marked as open, and as this version's. Says up to where fences are reserved. */
  async #takeUp({ reserved, resident }: StoreRead): Promise<number> {
    const { disk, directory } = this.#options
    const upTo = reserved?.upTo ?? resident.shards.highestFence()
    if (!reserved || reserved.closedAt) await writeReserved(disk, directory, { upTo })
    if (!this.#isMarked) await writeFormat(disk, directory)
    this.#isMarked = true
    return upTo
  }

  nowMs(): number {
    return this.#options.clock.nowMs() + this.#aheadMs
  }

  step<C extends Command>(address: Address, command: C, facts?: Facts): Promise<ReplyTo<C> | Refused> {
    return this.#commit(({ resident }, nowMs) => resident.step(address, { command, facts, nowMs }))
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

  places(session: string): Promise<readonly Place[] | undefined> {
    return this.#commit(({ resident }) => resident.places(session))
  }

  sweep(limit: number): Promise<void> {
    return this.#commit(({ resident }, nowMs) => resident.sweep(Math.min(limit, SWEEP), nowMs))
  }

  nextDeadlineMs(): number | undefined {
    // While the disk fails there is always something to be tried.
    return this.#running ? this.#running.resident.nextDeadlineMs() : this.nowMs()
  }

  subscribe(listener: (event: StoreEvent) => void): () => void {
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

  /** Runs at once; answers when everything that the answer rests on is on the disk. */
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

  /** What is in memory is ahead of the disk now, and nobody may see it: all begins anew from the disk. */
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
      // Reading everything anew is worth it only when the disk takes something again.
      await probe(this.#options.disk, this.#options.directory)
      if (!(await this.#failed!.mend())) throw new Error('the disk does not let go of what it failed to write')
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
