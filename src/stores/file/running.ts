import { join } from 'node:path'
import { EDITION, isSamePolicy, type Policy, saidIn } from '../../core/index.ts'
import type { OpenStoreOptions } from '../kind.ts'
import type { Listeners } from '../resident/listeners.ts'
import type { Resident, StepTaken } from '../resident/resident.ts'
import type { SessionRequest, VersionedPolicy } from '../store.ts'
import { contentsOf, logName, snapshotName } from './directory.ts'
import type { Disk } from './disk.ts'
import { completed, type Entry, type StoredPolicy } from './entry.ts'
import { GroupCommit } from './group-commit.ts'
import { Log } from './log.ts'
import type { StoreRead } from './read-store.ts'
import { endsOf, FenceReserve, type LogEnds } from './reserved-fences.ts'
import { SnapshotWriter } from './snapshot-writer.ts'

export interface RunningOptions {
  readonly disk: Disk
  readonly directory: string
  readonly listeners: Listeners
  readonly defer: (begin: () => void) => void
  /** A log that is longer than this is followed by a snapshot; it may be longer where the snapshot is large. */
  readonly logLimit: number
  /** Fences up to this one need no word to the disk, and how many are reserved at a time. */
  readonly fences: { readonly upTo: number; readonly block: number }
  readonly onStep?: (step: StepTaken) => void
  readonly onSession?: OpenStoreOptions['onSession']
  readonly onFailed: (error: Error) => void
}

interface RestartOptions {
  readonly configured: Policy | undefined
  readonly fenceFloor: number | undefined
}

/** So large a log is still played again in a second or two. */
const LOG_LIMIT_MAX = 16 * 1024 * 1024
/** To play a restart once more takes as long as the restart did: this many of them are worth a snapshot. */
const RESTARTS_MAX = 3
/** With so many grants and waiters, one of them is. */
const MANY = 10_000

/** The state and its log, as long as the disk does what it is told. When it does not, all of this is thrown away. */
export class Running {
  readonly resident: Resident
  readonly #options: RunningOptions
  readonly #commit: GroupCommit
  readonly #fences: FenceReserve
  /** Those since the snapshot, oldest first; only the last one is written to. */
  #logs: readonly Log[]
  #highestFence = 0
  #lastMs: number
  #snapshotSize: number
  #restarts: number
  #snapshot: SnapshotWriter | undefined
  /** Ends when the snapshot under way has come to an end, whichever. */
  #turnover: Promise<void> | undefined
  /** After a turnover that failed, the next one is tried when the log has grown to this. */
  #tryAgainAt = 0
  /** It was closed, or has failed: a snapshot would be of no use. */
  #isOver = false

  private constructor(options: RunningOptions, read: StoreRead, logs: readonly Log[]) {
    const { disk, directory, fences } = options
    this.#options = options
    this.#logs = logs
    this.#fences = new FenceReserve({ disk, directory, ...fences })
    this.resident = read.resident
    this.#lastMs = read.lastMs
    this.#snapshotSize = read.snapshotSize
    this.#restarts = read.restarts + 1
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
   * Takes up the log where the disk has it. Nothing is added to it yet, but all that was read is durable from here on: the
   * process before may have been killed before it had seen to that.
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

  /** Up to where everything is durable. */
  get ends(): LogEnds {
    return endsOf(this.#logs.map(({ number, size }) => ({ number, end: size })))
  }

  get lastMs(): number {
    return this.#lastMs
  }

  /**
   * From here on it is served: everybody who was alive has its whole time once more. `fenceFloor`: those up to it may have been
   * granted in what is lost.
   */
  async restart(nowMs: number, { configured, fenceFloor }: RestartOptions): Promise<void> {
    const stored = completed(this.resident.policy as StoredPolicy, EDITION)
    this.#lastMs = nowMs
    this.resident.policy = stored
    this.resident.edition = EDITION
    this.#add(fenceFloor === undefined ? ['restart', nowMs, EDITION] : ['restart', nowMs, EDITION, fenceFloor])
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

  /** Everything so far is on the disk, and whoever listens has been told. */
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

  /** After a failure, until it says that it is done: see `GroupCommit`. */
  mend(): Promise<boolean> {
    return this.#commit.mend()
  }

  /** After a failure: leaves the disk alone. */
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
    const { version, configured } = policy
    this.#add(['policy', { version, policy: saidIn(policy.policy), configured: saidIn(configured) }])
  }

  #ran(step: StepTaken): void {
    const { nowMs, command } = step
    const events = this.#options.listeners.carried(step)
    this.#lastMs = nowMs
    this.#options.onStep?.(step)
    for (const event of step.events) {
      if (event.type === 'granted') this.#highestFence = Math.max(this.#highestFence, event.fence)
    }
    // One entry stands for all of these.
    if (command.type === 'recover') this.#commit.carry(events)
    else this.#commit.add(stepText(step), events)
  }

  #add(entry: Entry): void {
    this.#commit.add(JSON.stringify(entry), [])
  }

  /** A new log begins, and the snapshot of this very moment is written beside it; then all that was before can go. */
  #turnOver(): void {
    const { logLimit } = this.#options
    const limit = Math.max(logLimit, Math.min(this.#snapshotSize / 4, LOG_LIMIT_MAX), this.#tryAgainAt)
    if (this.#turnover || (this.#commit.log.size < limit && this.#restarts < this.#restartsMax())) return
    this.#turnover = this.#writeSnapshot()
      .catch(() => {
        // The logs are all there, so nothing is lost: it is tried again when there is more to be gained.
        this.#tryAgainAt = this.#commit.log.size + logLimit / 4
      })
      .finally(() => {
        this.#turnover = undefined
        this.#snapshot = undefined
      })
  }

  #restartsMax(): number {
    const { grants, waiters } = this.resident.counts()
    return grants + waiters > MANY ? 1 : RESTARTS_MAX
  }

  async #writeSnapshot(): Promise<void> {
    const { disk, directory, defer, logLimit: limit } = this.#options
    const number = this.#commit.log.number + 1
    const log = await Log.create(disk, { number, path: join(directory, logName(number)), limit })
    if (this.#isOver) return log.close()

    // No await from here to the switch: the snapshot is of exactly this place in the log.
    const before = this.#commit.log
    const isCovered = this.#commit.durable()
    this.#snapshot = new SnapshotWriter({
      disk,
      directory,
      number,
      resident: this.resident,
      header: { nowMs: this.#lastMs, policy: this.resident.policy as StoredPolicy },
      pause: () => new Promise((resolve) => defer(resolve)),
    })
    this.#commit.switchTo(log)
    this.#logs = [...this.#logs, log]
    this.#tryAgainAt = 0
    this.#restarts = 0
    void isCovered.then(() => before.close()).catch(() => {})
    this.#snapshotSize = await this.#snapshot.write(isCovered)
    this.#logs = this.#logs.filter((each) => each.number >= number)
    await removeBefore(number, { disk, directory })
  }
}

/** What a complete snapshot has made unnecessary. */
export async function removeBefore(
  number: number,
  { disk, directory }: { readonly disk: Disk; readonly directory: string },
): Promise<void> {
  const { snapshots, logs } = await contentsOf(disk, directory)
  for (const each of logs) if (each < number) await disk.remove(join(directory, logName(each)))
  for (const each of snapshots) if (each < number) await disk.remove(join(directory, snapshotName(each)))
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
