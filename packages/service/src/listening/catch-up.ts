import type { StatePart, StreamedEvent, WireEvent } from '@baton-lock/protocol'
import type { Timers } from '../timers/timers.ts'

export type Sink = (event: WireEvent, id: string) => void

/** How to send a state that is too large for one event. */
export interface Piecewise {
  /** The approximate size of a part. */
  readonly bytes: number
  tell(part: StatePart, id: string): void
  /**
   * Resolves when everything sent so far was taken, so that the next part may follow; false if the listener has gone.
   */
  taken(): Promise<boolean>
}

interface CatchUpOptions {
  readonly sink: Sink
  /** The present state, in several events if it is too large for one. */
  readonly readState: () => AsyncIterable<StreamedEvent>
  /** Absent: the state is never split. */
  readonly piecewise?: Piecewise | undefined
  /** The id of the last event so far. Later events have higher ids. */
  readonly lastId: () => string
  /** The listener reconnects, and has heard events before. */
  readonly isBack: boolean
  readonly timers: Timers
  readonly onWaiting?: ((change: number) => void) | undefined
}

type Telling = readonly [event: StreamedEvent, id: string]

const RETRY_MS = 1_000

/** If more than this waits, it is dropped as part of the gap, and the state is sent once more. */
const WAITING_BYTES = 64 * 1024

/**
 * Brings a listener up to date, at the beginning and after a gap. New events wait until then. If they were sent
 * before the listener knows of the gap, and its connection broke at that moment, it would resume from an id after the
 * gap and never learn of it.
 */
export class CatchUp {
  readonly #options: CatchUpOptions
  /** Events that came in the meantime; `undefined` if the listener is up to date. */
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

  /** The missed events are known. */
  tell(missed: readonly Telling[]): void {
    const waiting = [...missed, ...(this.#waiting ?? [])]
    this.#waiting = waiting
    this.#weigh(0)
    this.#hasBegun = true
    // A sink may cause more events, another gap, or the end of this listener.
    while (this.#waiting === waiting && waiting.length > 0) this.#tellOne(waiting.shift()!)
    if (this.#waiting === waiting) this.#waiting = undefined
  }

  /**
   * Events may have been missed, so everything waits until the state was sent. What waited before is part of the gap.
   */
  hold(): void {
    this.#round++
    this.#cancel()
    this.#waiting = []
    this.#hasOverflowed = false
    this.#weigh(0)
  }

  /** Sends the state. Returns nothing if another gap came in the meantime, or if the listener has gone. */
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

  /**
   * Sends the state after a gap, and retries while the store is away. Resolves with the first part, to wait for no
   * slow reader.
   */
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

  /** This state is outdated already, as too many events came while it was read. */
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

/** The length as text. The same event is measured once, as it is sent to many listeners in a row. */
function bytesOf(event: StreamedEvent): number {
  if (lastWeighed?.event !== event) lastWeighed = { event, bytes: JSON.stringify(event).length }
  return lastWeighed.bytes
}
