import type { ClientClock } from '@baton-lock/client/internal'
import type { Turn } from '../coordination/coordination.ts'

/** Who has its turn and receives nothing for so long lets the next one try. */
const STALLED_MS = 60_000
const PROGRESS_MS = 1_000

interface Result {
  readonly bytes: number
}

/** One node's turn to fetch a blob: how far it is, and how it ends. It ends once; what comes after that counts for nothing. */
export class Transfer {
  /** Settles with what the lock server is told. */
  readonly outcome: Promise<Result>
  /** How the attempt before this one ended, and on which node. */
  readonly previous: Turn['previous']
  readonly #turn: Turn
  readonly #clock: ClientClock
  #settle!: { resolve(result: Result): void; reject(error: Error): void }
  #callOff: () => void
  #wroteAtMs: number
  #toldAtMs = 0
  #isOver = false

  constructor(turn: Turn, clock: ClientClock) {
    this.#turn = turn
    this.#clock = clock
    this.previous = turn.previous
    this.outcome = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject }
    })
    this.#wroteAtMs = clock.monoMs()
    this.#callOff = clock.after(STALLED_MS, () => this.#lookForStall())
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** Tells those who watch, once a second at most. */
  wrote(progress: { readonly bytes: number; readonly total: number }): void {
    this.#wroteAtMs = this.#clock.monoMs()
    if (this.#isOver || this.#wroteAtMs - this.#toldAtMs < PROGRESS_MS) return
    this.#toldAtMs = this.#wroteAtMs
    this.#turn.progress(progress)
  }

  succeed(result: Result): void {
    this.#end()
    this.#settle.resolve(result)
  }

  fail(error: Error): void {
    this.#end()
    this.#settle.reject(error)
  }

  #end(): void {
    this.#isOver = true
    this.#callOff()
  }

  /** Those who wait are not held up by a registry that sends nothing; what it still sends is good all the same. */
  #lookForStall(): void {
    const silentMs = this.#clock.monoMs() - this.#wroteAtMs
    if (silentMs >= STALLED_MS) this.fail(new Error(`nothing has come in for ${STALLED_MS / 1_000} s`))
    else this.#callOff = this.#clock.after(STALLED_MS - silentMs, () => this.#lookForStall())
  }
}
