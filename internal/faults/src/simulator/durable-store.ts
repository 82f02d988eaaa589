import type { Policy } from '@baton-lock/core'
import { SteadyClock } from '@baton-lock/service'
import type { Random } from '@baton-lock/store/conformance/random'
import { openFileStore } from '@baton-lock/store/file'
import { frameAt } from '@baton-lock/store/file/log-record'
import type { Store } from '@baton-lock/store/store'
import type { HistoryRecord, StepRecord } from '../history/history.ts'
import type { Timed } from '../history/telling.ts'
import { SimulatedDisk } from '../simulated-disk.ts'
import { lateStore } from './late-store.ts'
import type { Process, Scheduler } from './scheduler.ts'

/** A step is recorded with the time of the simulator: that of its store may stand still. */
export type SimulatedRecord = Exclude<HistoryRecord, StepRecord> | Timed<StepRecord>

interface DurableStoreOptions {
  readonly scheduler: Scheduler
  readonly random: Random
  readonly policy: Policy
  /** Steps are written into it as they are taken, and those that a crash undoes are taken out again. */
  readonly history: SimulatedRecord[]
}

const SYNC_MS = 20

/** A file store on a simulated disk: when its process dies, what was not synced goes with it, or is torn. */
export class DurableStore {
  readonly #options: DurableStoreOptions
  #disk = new SimulatedDisk()
  /** Steps that are not on the disk yet, oldest first. */
  #unsynced: Timed<StepRecord>[] = []
  /** Sessions that somebody has asked to end, and the disk does not know it yet. */
  readonly #ending = new Set<string>()

  constructor(options: DurableStoreOptions) {
    this.#options = options
  }

  /** The store of one process; closing it is the death of that process. */
  open(process: Process): Store {
    const { scheduler, policy, random } = this.#options
    const clock = new SteadyClock({ rawMs: () => scheduler.nowMs() })
    beat(clock, process, scheduler)
    this.#options.history.push({ kind: 'server', nowMs: clock.nowMs(), what: 'started', count: 0 })
    const disk = this.#disk
    disk.beforeSync = () =>
      new Promise((resolve) => void scheduler.after(process, random.next() * SYNC_MS, () => resolve()))
    disk.onSynced = (path, writes) => {
      if (path.includes('/log-')) for (const bytes of writes) this.#settle(bytes)
    }
    const opening = openFileStore({
      directory: '/store',
      clock,
      policy,
      disk,
      logLimit: 5_000,
      liveLimit: 2,
      defer: queueMicrotask,
      onStep: (step) => this.#take({ kind: 'step', ...step, monoMs: scheduler.nowMs() }),
    })
    const store = lateStore(opening, { id: 'durable', clock, onClose: () => this.#crash() })
    const closeSession = (session: string) => {
      this.#ending.add(session)
      return store.closeSession(session)
    }
    return { ...store, closeSession }
  }

  #take(record: Timed<StepRecord>): void {
    this.#options.history.push(record)
    this.#unsynced.push(record)
  }

  /** What has just become durable: one entry stands for all that a restart did, each of the others for one step. */
  #settle(bytes: Buffer): void {
    const frame = frameAt(bytes, 0)
    if (!frame) return
    for (const [kind, what] of JSON.parse(frame.payload.toString()) as [string, unknown][]) {
      if (kind === 'end') this.#ending.delete(what as string)
      if (kind === 'step' || kind === 'acked') this.#unsynced.shift()
      if (kind === 'restart') while (this.#unsynced[0]?.command.type === 'recover') this.#unsynced.shift()
    }
  }

  #crash(): void {
    const { history, random } = this.#options
    this.#disk.turnOff()
    // All of a write but its last byte at most: what nobody knows to be there is in the tests of the store itself.
    this.#disk = this.#disk.afterCrash(({ length }) => random.integer(length))
    const lost = new Set<SimulatedRecord>(this.#unsynced)
    const isLost = (record: SimulatedRecord) =>
      lost.has(record) || (record.kind === 'session' && record.what === 'ended' && this.#ending.has(record.session))
    const kept = history.filter((record) => !isLost(record))
    history.splice(0, history.length, ...kept)
    this.#unsynced = []
    this.#ending.clear()
  }
}

function beat(clock: SteadyClock, process: Process, scheduler: Scheduler): void {
  clock.beat()
  scheduler.after(process, 200, () => beat(clock, process, scheduler))
}
