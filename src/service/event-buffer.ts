import { jsonBytes, type WireEvent } from '../protocol/index.ts'
import type { StoreEvent } from '../stores/store.ts'
import { heard, type Scope } from './fan-out.ts'

/** The last events, for listeners that come back. Ids rise, and those of an earlier process are recognised as such. */
export class EventBuffer {
  /** Oldest first; the first one has the number `#first`. */
  readonly #events: Weighed[] = []
  readonly #limit: number
  readonly #epoch: string
  #first = 1
  #weight = 0

  /** `limit`: of events, and a hundred times that of what they weigh. `epoch`: of no other process. */
  constructor(limit: number, epoch: string) {
    this.#limit = limit
    this.#epoch = epoch
  }

  get lastId(): string {
    return this.#idOf(this.#last)
  }

  add(event: StoreEvent): string {
    const weight = weightOf(event)
    this.#events.push({ event, weight })
    this.#weight += weight
    if (this.#events.length > 2 * this.#limit || this.#weight > 100 * this.#limit) this.#forget()
    return this.lastId
  }

  /** One that nobody could come back for is only counted: nobody has had an id yet. */
  pass(): void {
    this.#first++
  }

  /** What a listener has missed since this id; nothing where that is no longer known. */
  since(id: string, scope: Scope): [WireEvent, string][] | undefined {
    const [epoch, text] = id.split('-')
    const number = Number(text)
    const known = epoch === this.#epoch && Number.isInteger(number) && number >= this.#first - 1 && number <= this.#last
    if (!known) return undefined
    return this.#events.slice(number + 1 - this.#first).flatMap(({ event }, index) => {
      const eventId = this.#idOf(number + 1 + index)
      return heard(scope, event).map((wire): [WireEvent, string] => [wire, eventId])
    })
  }

  /** After a gap, no id from before it is known any more. */
  forgetAll(): void {
    this.#first = this.#last + 2
    this.#events.length = 0
    this.#weight = 0
  }

  get #last(): number {
    return this.#first + this.#events.length - 1
  }

  /** Many at a time, so that an event costs little. */
  #forget(): void {
    let count = Math.max(0, this.#events.length - this.#limit)
    let weight = this.#weight
    for (let index = 0; index < this.#events.length && (index < count || weight > 50 * this.#limit); index++) {
      weight -= this.#events[index]!.weight
      count = Math.max(count, index + 1)
    }
    this.#events.splice(0, count)
    this.#first += count
    this.#weight = weight
  }

  #idOf(number: number): string {
    return `${this.#epoch}-${number}`
  }
}

interface Weighed {
  readonly event: StoreEvent
  readonly weight: number
}

/** An asker that is named weighs 1, and so do 100 bytes of a result. */
function weightOf(event: StoreEvent): number {
  if (event.type === 'told') return 1 + event.askers.length + weightOfResult(event.answer)
  return event.type === 'ended' ? 1 + weightOfResult(event.outcome) : 1
}

function weightOfResult(of: object): number {
  return 'result' in of && of.result !== undefined ? Math.ceil(jsonBytes(of.result) / 100) : 0
}
