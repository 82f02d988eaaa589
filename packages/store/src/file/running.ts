import { join } from 'node:path'
import { isSamePolicy, type Policy } from '@baton-lock/core'
import type { OpenStoreOptions } from '../kind.ts'
import type { Listeners } from '../resident/listeners.ts'
import type { Resident, StepTaken } from '../resident/resident.ts'
import type { SessionRequest, VersionedPolicy } from '../store.ts'
import { contentsOf, logName, snapshotName } from './directory.ts'
import type { Disk, DiskFile } from './disk.ts'
import { type Entry, type StoredPolicy, saidOf } from './entry.ts'
import { endsOf, FenceReserve, type LogEnds } from './fences.ts'
import { GroupCommit } from './group-commit.ts'
import { Log } from './log.ts'
import type { StoreRead } from './read-store.ts'
import { SnapshotWriter } from './snapshot.ts'

export interface RunningOptions {
  readonly disk: Disk
  readonly directory: string
  /** Of the store. */
  readonly id: string
  readonly listeners: Listeners
  readonly defer: (begin: () => void) => void
  /** A longer log is followed by a snapshot. If the last snapshot is large, the log may be longer. */
  readonly logLimit: number
  /** Up to where fences are reserved, and how many are reserved at a time. */
  readonly fences: { readonly upTo: number; readonly block: number }
  readonly onStep?: (step: StepTaken) => void
  readonly onSession?: OpenStoreOptions['onSession']
  readonly onFailed: (error: Error) => void
}

interface RestartOptions {
  readonly configured: Policy | undefined
  readonly fenceFloor: number | undefined
}

/** A log of this size is replayed in a second or two. */
const LOG_LIMIT_MAX = 16 * 1024 * 1024
/** To replay a restart takes as long as the restart did. After so many of them a snapshot is worth its time. */
const RESTARTS_MAX = 3
/** With so many grants and waiters, one restart is enough. */
const MANY = 10_000

/** The state and its log. After a failure of the disk it is abandoned, and another one is read from the disk. */
export class Running {
  readonly resident: Resident
  readonly #options: RunningOptions
  readonly #commit: GroupCommit
  readonly #fences: FenceReserve
  /** Those since the snapshot, oldest first. Entries are added to the last one. */
  #logs: readonly Log[]
  #highestFence = 0
  #lastMs: number
  #snapshotSize: number
  #restarts: number
  #snapshot: SnapshotWriter | undefined
  /** Resolves when the current snapshot is written or has failed. */
  #turnover: Promise<void> | undefined
  /** After a snapshot that failed, the next one is tried when the log has grown to this size. */
  #tryAgainAt = 0
  /** It was closed, or has failed. */
  #isOver = false

  private constructor(options: RunningOptions, read: StoreRead, logs: readonly Log[]) {
    const { disk, directory, fences } = options
    this.#options = options
    this.#logs = logs
    this.#fences = new FenceReserve({ disk, directory, ...fences })
    this.resident = read.resident
    this.#lastMs = read.lastMs
    this.#snapshotSize = read.snapshotSize
    this.#restarts = read.logs.reduce((sum, log) => sum + log.restarts, 1)
    this.#commit = new GroupCommit({
      log: logs.at(-1)!,
      defer: options.defer,
      beforeWrite: () => this.#fences.cover(this.#highestFence),
      onFailed: (error) => {
        this.#end()
        options.onFailed(error)
      },
      onDurable: (events) => {
        options.listeners.tell(events)
        this.#turnOver()
      },
    })
    this.resident.journal = {
      ran: (step) => this.#ran(step),
      opened: ({ session, node, ttlMs }: SessionRequest) => {
        this.#add(['open', { session, node, ttlMs }])
        options.onSession?.(session, 'opened')
      },
      ended: (session, how) => {
        this.#add(['end', session, how])
        options.onSession?.(session, how === 'leave' ? 'left' : 'lost')
      },
    }
  }

  /**
   * Opens the logs that were read, to continue the last one. When it resolves, all that was read is durable: the process before may
   * have been killed before its last sync.
   */
  static async from(read: StoreRead, options: RunningOptions): Promise<Running> {
    const { disk, directory, logLimit: limit } = options
    const named = (number: number) => ({ number, path: join(directory, logName(number)), limit })
    for (const name of read.contents.unfinished) await disk.remove(join(directory, name))
    const logs: Log[] = []
    for (const each of read.logs) {
      await logs.at(-1)?.close()
      logs.push(await Log.goOn(disk, named(each.number), each))
    }
    if (logs.length === 0) logs.push(await Log.create(disk, named(0)))
    return new Running(options, read, logs)
  }

  /** Where the logs end. All before is durable. */
  get ends(): LogEnds {
    return endsOf(this.#logs.map(({ number, size }) => ({ number, end: size })))
  }

  get lastMs(): number {
    return this.#lastMs
  }

  /**
   * Everybody who was alive gets its whole ttl once more. `fenceFloor`: fences up to it may have been granted in a lost part of the
   * log.
   */
  async restart(nowMs: number, { configured, fenceFloor }: RestartOptions): Promise<void> {
    const stored = this.resident.policy as StoredPolicy
    this.#lastMs = nowMs
    this.#add(fenceFloor === undefined ? ['restart', nowMs] : ['restart', nowMs, fenceFloor])
    this.resident.shards.raiseAllFenceFloors(fenceFloor ?? 0)
    this.resident.recover(nowMs)
    const isNew = stored.version === 0
    if (isNew || (configured && !isSamePolicy(configured, stored.configured))) {
      const policy = configured ?? stored.policy
      this.#setPolicy({ version: stored.version + 1, policy, configured: policy })
    }
    this.resident.takeStock()
    await this.#commit.durable()
  }

  applyPolicy(policy: Policy, expectedVersion: number): VersionedPolicy & { readonly applied: boolean } {
    const stored = this.resident.policy as StoredPolicy
    const applied = expectedVersion === stored.version
    if (applied) this.#setPolicy({ ...stored, version: expectedVersion + 1, policy })
    const { version, policy: present } = this.resident.policy
    return { version, policy: present, applied }
  }

  /** Resolves when all changes so far are durable, and their events were delivered. */
  durable(): Promise<void> {
    return this.#commit.durable()
  }

  async close(): Promise<void> {
    this.resident.journal = undefined
    await this.#commit.durable().catch(() => {})
    this.#end()
    await this.#turnover
    await this.#commit.log.trim()
    await this.#fences.close(this.ends)
  }

  /** After a failure, until it returns true: see `GroupCommit`. */
  mend(): Promise<boolean> {
    return this.#commit.mend()
  }

  /** After a failure. Writes nothing more. */
  async abandon(): Promise<void> {
    this.resident.journal = undefined
    await this.#turnover
    await this.#commit.log.close().catch(() => {})
  }

  #end(): void {
    this.#isOver = true
    this.#snapshot?.abort()
  }

  #setPolicy(policy: StoredPolicy): void {
    this.resident.policy = policy
    this.#add(['policy', saidOf(policy)])
  }

  #ran(step: StepTaken): void {
    const { nowMs, command, events } = step
    this.#lastMs = nowMs
    this.#options.onStep?.(step)
    for (const { event } of events) {
      if (event.type === 'granted') this.#highestFence = Math.max(this.#highestFence, event.fence)
    }
    // The entry of the restart covers all of these.
    if (command.type === 'recover') this.#commit.carry(events)
    else this.#commit.add(stepText(step), events)
  }

  #add(entry: Entry): void {
    this.#commit.add(JSON.stringify(entry), [])
  }

  /**
   * Writes a snapshot of this moment, as an operator asked for one, and returns it. It stays readable while it is open, though the
   * next one removes its name.
   */
  async backup(): Promise<DiskFile> {
    const { disk, directory } = this.#options
    // One that is being written is of an earlier moment.
    while (this.#turnover) await this.#turnover
    let file: DiskFile | undefined
    await this.#beginTurnover(async (number) => {
      file = await disk.open(join(directory, snapshotName(number)), 'read')
    })
    return file!
  }

  /** If the log is long, or took long to replay, a new one begins. */
  #turnOver(): void {
    const { logLimit } = this.#options
    const limit = Math.max(logLimit, Math.min(this.#snapshotSize / 4, LOG_LIMIT_MAX), this.#tryAgainAt)
    if (this.#turnover || (this.#commit.log.size < limit && this.#restarts < this.#restartsMax())) return
    this.#beginTurnover().catch(() => {
      // The logs are all there, so nothing is lost. It is tried again when there is more to be gained.
      this.#tryAgainAt = this.#commit.log.size + logLimit / 4
    })
  }

  #beginTurnover(onWritten: (number: number) => Promise<void> = async () => {}): Promise<void> {
    const turnover = this.#writeSnapshot(onWritten)
    const isOver = () => {
      this.#turnover = undefined
      this.#snapshot = undefined
    }
    this.#turnover = turnover.then(isOver, isOver)
    return turnover
  }

  #restartsMax(): number {
    const { grants, waiters } = this.resident.counts()
    return grants + waiters > MANY ? 1 : RESTARTS_MAX
  }

  /** Begins a new log, and writes the snapshot of that very moment beside it. Then all that was before can go. */
  async #writeSnapshot(onWritten: (number: number) => Promise<void>): Promise<void> {
    const { disk, directory, id, defer, logLimit: limit } = this.#options
    const number = this.#commit.log.number + 1
    const log = await Log.create(disk, { number, path: join(directory, logName(number)), limit })
    if (this.#isOver) {
      await log.close()
      throw new Error('the store is closed')
    }

    // No await from here to the switch: the snapshot is of exactly this place in the log.
    const before = this.#commit.log
    const isCovered = this.#commit.durable()
    this.#snapshot = new SnapshotWriter({
      disk,
      path: join(directory, snapshotName(number)),
      resident: this.resident,
      header: { id, nowMs: this.#lastMs, policy: saidOf(this.resident.policy as StoredPolicy) },
      pause: () => new Promise((resolve) => defer(resolve)),
    })
    this.#commit.switchTo(log)
    this.#logs = [...this.#logs, log]
    this.#tryAgainAt = 0
    this.#restarts = 0
    void isCovered.then(() => before.close()).catch(() => {})
    this.#snapshotSize = await this.#snapshot.write(isCovered)
    this.#logs = this.#logs.filter((each) => each.number >= number)
    await onWritten(number)
    await this.#removeBefore(number)
  }

  /** What a complete snapshot has made unnecessary. */
  async #removeBefore(number: number): Promise<void> {
    const { disk, directory } = this.#options
    const { snapshots, logs } = await contentsOf(disk, directory)
    for (const each of logs) if (each < number) await disk.remove(join(directory, logName(each)))
    for (const each of snapshots) if (each < number) await disk.remove(join(directory, snapshotName(each)))
  }
}

function stepText({ nowMs, namespace, resource, command, facts }: StepTaken): string {
  if (command.type === 'acknowledge' && !facts) {
    const { operation, owner, hold, node = null } = command
    const acked: Entry = ['acked', nowMs, namespace, resource, operation, owner, hold, node]
    return JSON.stringify(acked)
  }
  const what = ['step', nowMs, namespace, resource, command] as const
  const entry: Entry = facts ? [...what, facts] : what
  return JSON.stringify(entry)
}
