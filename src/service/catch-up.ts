import type { WireEvent } from '../protocol/index.ts'
import type { Timers } from './timers.ts'

export type Sink = (event: WireEvent, id: string) => void

interface CatchUpOptions {
  readonly sink: Sink
  /** How things stand. */
  readonly readState: () => Promise<WireEvent>
  /** The id of the last event so far: what comes in later has a higher one. */
  readonly lastId: () => string
  /** It has heard something before, and comes back. */
  readonly isBack: boolean
  readonly timers: Timers
}

type Telling = readonly [event: WireEvent, id: string]

const RETRY_MS = 1_000

/**
 * Brings one who listens up to date, at the beginning and after a gap. What comes meanwhile waits: whoever heard it before it
 * has heard of the gap, and were cut off then, would come back with an id from after the gap, and never be told.
 */
export class CatchUp {
  readonly #options: CatchUpOptions
  /** What has come meanwhile; nothing where it is up to date. */
  #waiting: Telling[] | undefined = []
  #hasBegun: boolean
  #round = 0
  #isOver = false
  #cancel = () => {}

  constructor(options: CatchUpOptions) {
    this.#options = options
    this.#hasBegun = options.isBack
  }

  readonly hear: Sink = (event, id) => {
    if (this.#waiting) this.#waiting.push([event, id])
    else this.#options.sink(event, id)
  }

  /** What it has missed is known. */
  tell(missed: readonly Telling[]): void {
    const waiting = [...missed, ...(this.#waiting ?? [])]
    this.#waiting = waiting
    this.#hasBegun = true
    // What is heard may lead to more, to another gap, or to the end.
    while (this.#waiting === waiting && waiting.length > 0) this.#options.sink(...waiting.shift()!)
    if (this.#waiting === waiting) this.#waiting = undefined
  }

  /** Some may have been missed: until the state is told, everything waits. What waited before is a part of the gap. */
  hold(): void {
    this.#round++
    this.#cancel()
    this.#waiting = []
  }

  /** Tells how things stand; nothing is returned where another gap has come meanwhile, or nobody listens any more. */
  async tellState(): Promise<WireEvent | undefined> {
    this.hold()
    const round = this.#round
    const id = this.#options.lastId()
    const state = await this.#options.readState()
    if (round !== this.#round) return undefined
    this.tell(
      this.#hasBegun
        ? [
            [{ type: 'reset' }, id],
            [state, id],
          ]
        : [[state, id]],
    )
    return state
  }

  /** The same after a gap; where the store is away, when it is back. */
  async tellAnew(): Promise<void> {
    if (this.#isOver) return
    const telling = this.tellState()
    const round = this.#round
    await telling.catch(() => {
      if (round === this.#round) this.#cancel = this.#options.timers.after(RETRY_MS, () => void this.tellAnew())
    })
  }

  stop(): void {
    this.#isOver = true
    this.hold()
  }
}
