import type { WireEvent } from '../protocol/index.ts'
import type { StoreEvent } from '../stores/store.ts'
import { heard, type Scope } from './fan-out.ts'

/** The last events, for listeners that come back. Ids rise, and those of an earlier process are recognised as such. */
export class History {
  readonly #events: { readonly number: number; readonly event: StoreEvent }[] = []
  readonly #limit: number
  readonly #epoch: string
  #last = 0

  constructor(limit: number, startedAtMs: number) {
    this.#limit = limit
    this.#epoch = Math.floor(startedAtMs).toString(36)
  }

  get lastId(): string {
    return this.#idOf(this.#last)
  }

  add(event: StoreEvent): string {
    this.#events[this.#last % this.#limit] = { number: ++this.#last, event }
    return this.lastId
  }

  /** What a listener has missed since this id; nothing where that is no longer known. */
  since(id: string, scope: Scope): [WireEvent, string][] | undefined {
    const [epoch, text] = id.split('-')
    const number = Number(text)
    const known = epoch === this.#epoch && Number.isInteger(number) && number >= 0 && number <= this.#last
    if (!known || this.#last - number > this.#limit) return undefined
    const missed: [WireEvent, string][] = []
    for (let next = number + 1; next <= this.#last; next++) {
      const { event } = this.#events[(next - 1) % this.#limit]!
      for (const wire of heard(scope, event)) missed.push([wire, this.#idOf(next)])
    }
    return missed
  }

  #idOf(number: number): string {
    return `${this.#epoch}-${number}`
  }
}
