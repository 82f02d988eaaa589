import { nameOf } from '../address.ts'
import type { Address } from '../store.ts'

const TOGETHER = 64

/**
 * One lane for each resource: what is asked of it here goes one after another, and what has gathered meanwhile goes
 * together. So a resource never takes more than one transaction of this process, however many ask for it.
 */
export class Lanes<Job, Result> {
  readonly #lanes = new Map<string, Waiting<Job, Result>[]>()
  readonly #run: RunLane<Job, Result>

  constructor(run: RunLane<Job, Result>) {
    this.#run = run
  }

  /** `byMs`: when it has to be done. */
  go(address: Address, job: Job, byMs: number): Promise<Result> {
    return new Promise((resolve, reject) => {
      const name = nameOf(address)
      const lane = this.#lanes.get(name)
      const waiting = { job, resolve, reject, byMs }
      if (lane) lane.push(waiting)
      else {
        const started = [waiting]
        this.#lanes.set(name, started)
        void this.#work(address, started)
      }
    })
  }

  /** Something is under way for it. */
  isBusy(address: Address): boolean {
    return this.#lanes.has(nameOf(address))
  }

  async #work(address: Address, lane: Waiting<Job, Result>[]): Promise<void> {
    while (lane.length > 0) {
      // All that is asked at this moment. A release lets two ask: whoever is granted claims, and whoever has released may want it again.
      await new Promise<void>((resolve) => process.nextTick(resolve))
      const batch = lane.splice(0, TOGETHER)
      const jobs = batch.map(({ job }) => job)
      try {
        // The first has waited longest.
        const results = await this.#run(address, jobs, batch[0]!.byMs)
        for (const [index, { resolve }] of batch.entries()) resolve(results[index]!)
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    this.#lanes.delete(nameOf(address))
  }
}

/** Gives a result for each job, all of them before that time. */
type RunLane<Job, Result> = (address: Address, jobs: readonly Job[], byMs: number) => Promise<readonly Result[]>

interface Waiting<Job, Result> {
  readonly job: Job
  readonly byMs: number
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}
