import { nameOf } from '../address.ts'
import type { Backend } from './backend.ts'
import type { Batch, Job, Steps } from './steps.ts'

/** What comes while so many transactions are under way gathers for the next one. */
const TOGETHER = { resources: 64, atOnce: 3 }
/** So many are remembered; with more than that, the others take the longer way. */
const CROWDED = 10_000

interface Waiting {
  readonly job: Job
  readonly resolve: (batch: Batch) => void
  readonly reject: (error: unknown) => void
}

/**
 * Which jobs share a transaction. At first all do that have gathered: such a transaction waits for nobody. What it had to
 * leave alone gets one of its own, and may wait there for whoever has its resource open: only for itself, and never in the
 * way of the others.
 */
export class Dispatch {
  readonly #steps: Steps
  readonly #together: Required<Backend>['together']
  readonly #aloneAtOnce: number
  readonly #gathered: Waiting[] = []
  readonly #alone: Waiting[] = []
  /** Resources that somebody waits for: such a step always needs more. */
  readonly #crowded = new Set<string>()
  #isScheduled = false
  #togetherNow = 0
  #aloneNow = 0

  constructor(steps: Steps, { concurrency, together = TOGETHER }: Pick<Backend, 'concurrency' | 'together'>) {
    this.#steps = steps
    this.#together = together
    this.#aloneAtOnce = Math.max(1, concurrency - together.atOnce)
  }

  run(job: Job): Promise<Batch> {
    return new Promise((resolve, reject) => {
      const waiting = { job, resolve, reject }
      if (this.#crowded.has(nameOf(job.address))) this.#alone.push(waiting)
      else this.#gathered.push(waiting)
      this.#later()
    })
  }

  /** When all that runs in this turn has run: whoever was answered with others may ask with them again. */
  #later(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    process.nextTick(() => {
      this.#isScheduled = false
      this.#pump()
    })
  }

  #pump(): void {
    // One that is by itself gains nothing from going together.
    if (this.#gathered.length === 1 && this.#aloneNow < this.#aloneAtOnce) this.#alone.push(this.#gathered.shift()!)
    while (this.#togetherNow < this.#together.atOnce && this.#gathered.length > 0) {
      this.#togetherNow++
      void this.#runTogether(this.#gathered.splice(0, this.#together.resources)).finally(() => {
        this.#togetherNow--
        this.#pump()
      })
    }
    while (this.#aloneNow < this.#aloneAtOnce && this.#alone.length > 0) {
      this.#aloneNow++
      void this.#runAlone(this.#alone.shift()!).finally(() => {
        this.#aloneNow--
        this.#pump()
      })
    }
  }

  async #runTogether(waiting: readonly Waiting[]): Promise<void> {
    try {
      const batches = await this.#steps.runTogether(waiting.map(({ job }) => job))
      for (const [index, batch] of batches.entries()) {
        if (batch) waiting[index]!.resolve(batch)
        else this.#alone.push(waiting[index]!)
      }
    } catch (error) {
      for (const { reject } of waiting) reject(error)
    }
  }

  #note({ address }: Job, { isCrowded }: Batch): void {
    const name = nameOf(address)
    if (!isCrowded) this.#crowded.delete(name)
    else if (this.#crowded.size < CROWDED) this.#crowded.add(name)
  }

  async #runAlone({ job, resolve, reject }: Waiting): Promise<void> {
    await this.#steps.run(job).then((batch) => {
      this.#note(job, batch)
      resolve(batch)
    }, reject)
  }
}
