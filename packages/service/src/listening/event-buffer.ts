import type { AddressedEvent, Event } from '@baton-lock/core'
import { jsonBytes } from '@baton-lock/protocol'
import { heard, type Scope } from './fan-out.ts'

/** The last events, for listeners that reconnect. Ids rise, and ids of an earlier process are recognised. */
export class EventBuffer {
  /** Oldest first. The first one has the number `#first`. */
  readonly #events: Weighed[] = []
  readonly #limit: number
  readonly #epoch: string
  #first = 1
  #weight = 0

  /**
   * `limit`: the number of events, and a hundredth of their total weight. `epoch`: differs from that of any other
   * process.
   */
  constructor(limit: number, epoch: string) {
    this.#limit = limit
    this.#epoch = epoch
  }

  get lastId(): string {
    return this.#idOf(this.#last)
  }

  add(event: AddressedEvent): string {
    const weight = weightOf(event)
    this.#events.push({ event, weight })
    this.#weight += weight
    if (this.#events.length > 2 * this.#limit || this.#weight > 100 * this.#limit) this.#forget()
    return this.lastId
  }

  /** Counts an event without keeping it, as long as no listener has an id to resume from. */
  pass(): void {
    this.#first++
  }

  /** The events after this id; `undefined` if the id is not known any more. */
  since(id: string, scope: Scope): [Event, string][] | undefined {
    const [epoch, text] = id.split('-')
    const number = Number(text)
    const known = epoch === this.#epoch && Number.isInteger(number) && number >= this.#first - 1 && number <= this.#last
    if (!known) return undefined
    return this.#events.slice(number + 1 - this.#first).flatMap(({ event }, index) => {
      const eventId = this.#idOf(number + 1 + index)
      return heard(scope, event).map((each): [Event, string] => [each, eventId])
    })
  }

  /** After a gap, all earlier ids are unknown. */
  forgetAll(): void {
    this.#first = this.#last + 2
    this.#events.length = 0
    this.#weight = 0
  }

  get #last(): number {
    return this.#first + this.#events.length - 1
  }

  /** Forgets many at once, to keep the cost per event low. */
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
  readonly event: AddressedEvent
  readonly weight: number
}

/** Each recipient weighs 1, and so does each 100 bytes of a result. */
function weightOf({ event, to }: AddressedEvent): number {
  const of = event.type === 'told' ? event.answer : event.type === 'ended' ? event.outcome : undefined
  return 1 + to.length + (of ? weightOfResult(of) : 0)
}

function weightOfResult(of: object): number {
  return 'result' in of && of.result !== undefined ? Math.ceil(jsonBytes(of.result) / 100) : 0
}
