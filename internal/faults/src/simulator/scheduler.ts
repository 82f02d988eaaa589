import { Deadlines } from '@baton-lock/core'
import type { Random } from '@baton-lock/store/conformance/random'
import { settled } from '@baton-lock/store/conformance/simulated-clock'

/** What runs at the end of a turn may set off something that does so again. */
const TURNS = 3

/** Twice what the longest run takes that is known: 72,752 (seed 1340), where 160 calls want one resource at a time. */
const STEPS_MAX = 150_000

/** Something that can be paused, and can die. What falls due for it meanwhile waits, or is lost. */
export class Process {
  readonly name: string
  readonly #scheduler: Scheduler
  #paused = false
  #dead = false
  #deferred: (() => void)[] = []
  readonly #onDeath = new Set<() => void>()

  constructor(name: string, scheduler: Scheduler) {
    this.name = name
    this.#scheduler = scheduler
  }

  get isPaused(): boolean {
    return this.#paused
  }

  get isDead(): boolean {
    return this.#dead
  }

  pause(): void {
    this.#paused = true
  }

  /** What fell due meanwhile happens now, in any order: a process that wakes does not know what came first. */
  resume(random: Random): void {
    if (!this.#paused) return
    this.#paused = false
    const deferred = this.#deferred
    this.#deferred = []
    while (deferred.length > 0) {
      const [callback] = deferred.splice(random.integer(deferred.length), 1)
      this.#scheduler.after(this, 0, callback!)
    }
  }

  kill(): void {
    this.#dead = true
    this.#deferred = []
    for (const tell of this.#onDeath) tell()
    this.#onDeath.clear()
  }

  /** Returns how to be told no more. */
  onDeath(tell: () => void): () => void {
    this.#onDeath.add(tell)
    return () => this.#onDeath.delete(tell)
  }

  perform(callback: () => void): void {
    if (this.#dead) return
    if (this.#paused) this.#deferred.push(callback)
    else callback()
  }
}

/** Virtual time: one event after another, each followed by all that it sets off. The same seed, the same order. */
export class Scheduler {
  readonly #tasks = new Deadlines<() => void>()
  /** Everything that happens has a moment of its own, so that nothing depends on how ties are broken. */
  #order = 0
  #nowMs = 0
  steps = 0

  nowMs(): number {
    return this.#nowMs
  }

  after(process: Process, delayMs: number, callback: () => void): () => void {
    const task = () => process.perform(callback)
    this.#order = (this.#order + 1) % 1_000_000
    this.#tasks.set(task, this.#nowMs + Math.max(0, delayMs) + this.#order * 1e-9)
    return () => this.#tasks.set(task, undefined)
  }

  /** It would go on for ever. */
  get isExhausted(): boolean {
    return this.steps >= STEPS_MAX
  }

  async run(untilMs: number, isDone: () => boolean = () => false): Promise<void> {
    await settled()
    while (!isDone() && !this.isExhausted) {
      const nextMs = this.#tasks.nextMs()
      if (nextMs === undefined || nextMs > untilMs) break
      const task = this.#tasks.due(nextMs)!
      this.#tasks.set(task, undefined)
      this.#nowMs = Math.max(this.#nowMs, nextMs)
      this.steps++
      task()
      // All that it sets off, but for what waits for a turn of the event loop, which costs ten times as much: that goes on
      // beside the next event, in the same order every time.
      if (this.steps % 500 === 0) await settled()
      else for (let turns = 0; turns < TURNS; turns++) await endOfTurn()
    }
  }
}

/** When the queue of microtasks is empty. */
function endOfTurn(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve))
}
