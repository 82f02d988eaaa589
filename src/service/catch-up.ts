import type { StatePart, StreamedEvent, WireEvent } from '../protocol/index.ts'
import type { Timers } from './timers.ts'

export type Sink = (event: WireEvent, id: string) => void

/** How a state that is too large for one event is told. */
export interface Piecewise {
  /** Of about so many bytes each. */
  readonly bytes: number
  tell(part: StatePart, id: string): void
  /** Resolves when what was told so far has been taken: the next part waits for that. False: there is nobody any more. */
  taken(): Promise<boolean>
}

interface CatchUpOptions {
  readonly sink: Sink
  /** How things stand; more than one event where that comes in parts. */
  readonly readState: () => AsyncIterable<StreamedEvent>
  /** Absent: it never comes in parts. */
  readonly piecewise?: Piecewise | undefined
  /** The id of the last event so far: what comes in later has a higher one. */
  readonly lastId: () => string
  /** It has heard something before, and comes back. */
  readonly isBack: boolean
  readonly timers: Timers
  readonly onWaiting?: ((change: number) => void) | undefined
}

type Telling = readonly [event: StreamedEvent, id: string]

const RETRY_MS = 1_000

/** More than this does not wait: it becomes a part of the gap, and the state is told once more. */
const WAITING_BYTES = 64 * 1024

/**
 * Brings one who listens up to date, at the beginning and after a gap. What comes meanwhile waits: whoever heard it before it
 * has heard of the gap, and were cut off then, would come back with an id from after the gap, and never be told.
 */
export class CatchUp {
  readonly #options: CatchUpOptions
  /** What has come meanwhile; nothing where it is up to date. */
  #waiting: Telling[] | undefined = []
  #waitingBytes = 0
  #hasOverflowed = false
  #hasBegun: boolean
  #round = 0
  #isOver = false
  #cancel = () => {}
  #onPart = () => {}

  constructor(options: CatchUpOptions) {
    this.#options = options
    this.#hasBegun = options.isBack
  }

  readonly hear: Sink = (event, id) => {
    if (!this.#waiting) this.#options.sink(event, id)
    else if (!this.#hasOverflowed) this.#wait([event, id])
  }

  /** What it has missed is known. */
  tell(missed: readonly Telling[]): void {
    const waiting = [...missed, ...(this.#waiting ?? [])]
    this.#waiting = waiting
    this.#weigh(0)
    this.#hasBegun = true
    // What is heard may lead to more, to another gap, or to the end.
    while (this.#waiting === waiting && waiting.length > 0) this.#tellOne(waiting.shift()!)
    if (this.#waiting === waiting) this.#waiting = undefined
  }

  /** Some may have been missed: until the state is told, everything waits. What waited before is a part of the gap. */
  hold(): void {
    this.#round++
    this.#cancel()
    this.#waiting = []
    this.#hasOverflowed = false
    this.#weigh(0)
  }

  /** Tells how things stand; nothing is returned where another gap has come meanwhile, or nobody listens any more. */
  async tellState(): Promise<StreamedEvent | undefined> {
    this.hold()
    const round = this.#round
    const id = this.#options.lastId()
    const first: Telling[] = this.#hasBegun ? [[{ type: 'reset' }, id]] : []
    let last: StreamedEvent | undefined
    for await (const next of this.#options.readState()) {
      if (round !== this.#round) return undefined
      if (last) {
        for (const telling of [...first.splice(0), [last, id] as const]) this.#tellOne(telling)
        this.#hasBegun = true
        this.#onPart()
        if (!(await this.#options.piecewise!.taken())) return undefined
      }
      last = next
    }
    if (round !== this.#round) return undefined
    if (this.#hasOverflowed) this.#tellForNow([...first, [last!, id]])
    else this.tell([...first, [last!, id]])
    return last
  }

  /** The same after a gap; where the store is away, when it is back. Nobody waits for a reader: it resolves with the first part. */
  async tellAnew(): Promise<void> {
    if (this.#isOver) return
    const hasPart = new Promise<void>((resolve) => {
      this.#onPart = resolve
    })
    const telling = this.tellState()
    const round = this.#round
    const told = telling.catch(() => {
      if (round === this.#round) this.#cancel = this.#options.timers.after(RETRY_MS, () => void this.tellAnew())
    })
    await Promise.race([told, hasPart])
  }

  stop(): void {
    this.#isOver = true
    this.hold()
  }

  #wait(telling: Telling): void {
    const bytes = this.#waitingBytes + bytesOf(telling[0])
    if (bytes <= WAITING_BYTES) {
      this.#waiting!.push(telling)
      this.#weigh(bytes)
      return
    }
    this.#waiting = []
    this.#hasOverflowed = true
    this.#weigh(0)
  }

  /** It is old already: what came while it was read did not find room to wait. */
  #tellForNow(telling: readonly Telling[]): void {
    this.#hasBegun = true
    this.#cancel = this.#options.timers.after(RETRY_MS, () => void this.tellAnew())
    for (const each of telling) this.#tellOne(each)
  }

  #tellOne([event, id]: Telling): void {
    if (event.type === 'state-part') this.#options.piecewise!.tell(event, id)
    else this.#options.sink(event, id)
  }

  #weigh(bytes: number): void {
    const change = bytes - this.#waitingBytes
    this.#waitingBytes = bytes
    if (change !== 0) this.#options.onWaiting?.(change)
  }
}

let lastWeighed: { readonly event: StreamedEvent; readonly bytes: number } | undefined

/** As text. The same event comes to many, one after another: it is measured once. */
function bytesOf(event: StreamedEvent): number {
  if (lastWeighed?.event !== event) lastWeighed = { event, bytes: JSON.stringify(event).length }
  return lastWeighed.bytes
}
