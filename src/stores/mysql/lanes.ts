import { deadlineMs } from './connections.ts'

/**
 * One lane for each resource: what is asked of it here goes one after another, and what has gathered meanwhile goes
 * together. So a resource never uses more than one connection of this process, however many ask for it.
 */
export class Lanes<Job, Result> {
  readonly #lanes = new Map<string, Waiting<Job, Result>[]>()
  readonly #run: RunLane<Job, Result>

  constructor(run: RunLane<Job, Result>) {
    this.#run = run
  }

  go(name: string, job: Job): Promise<Result> {
    return new Promise((resolve, reject) => {
      const lane = this.#lanes.get(name)
      const waiting = { job, resolve, reject, endMs: deadlineMs() }
      if (lane) lane.push(waiting)
      else {
        const started = [waiting]
        this.#lanes.set(name, started)
        void this.#work(name, started)
      }
    })
  }

  async #work(name: string, lane: Waiting<Job, Result>[]): Promise<void> {
    while (lane.length > 0) {
      const batch = lane.splice(0, TOGETHER)
      try {
        const results = await this.#run(
          name,
          batch.map(({ job }) => job),
          // The first has waited longest.
          batch[0]!.endMs,
        )
        for (const [index, { resolve }] of batch.entries()) resolve(results[index]!)
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    this.#lanes.delete(name)
  }
}

/** Gives a result for each job, all of them before that time. */
type RunLane<Job, Result> = (name: string, jobs: readonly Job[], endMs: number) => Promise<readonly Result[]>

interface Waiting<Job, Result> {
  readonly job: Job
  readonly endMs: number
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

const TOGETHER = 64
