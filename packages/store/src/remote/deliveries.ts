import { nameOf } from '../address.ts'
import type { Address } from '../store.ts'
import type { StepsLetter } from './letter.ts'

/**
 * Tells what has happened to a resource in the order in which it happened. What others do to it after a step of this
 * process may be heard of before that step's own commit is answered: so from when a resource is open here to the answer,
 * letters about it wait. All that came before is received until then (see `Transaction.open`).
 */
export class Deliveries {
  readonly #held = new Map<string, StepsLetter[]>()
  readonly #tell: (letter: StepsLetter) => void

  constructor(tell: (letter: StepsLetter) => void) {
    this.#tell = tell
  }

  /** A letter of another process. */
  receive(letter: StepsLetter): void {
    const held = this.#held.get(nameOf(letter))
    if (held) held.push(letter)
    else this.#tell(letter)
  }

  /** Letters about these resources wait from now on. Each resource is held once at a time. */
  hold(addresses: readonly Address[]): void {
    for (const address of addresses) this.#held.set(nameOf(address), [])
  }

  /** The transaction is over: what it has done itself is told, then what has come meanwhile. */
  release(addresses: readonly Address[], own: readonly StepsLetter[]): void {
    for (const letter of own) this.#tell(letter)
    for (const address of addresses) {
      const held = this.#held.get(nameOf(address)) ?? []
      this.#held.delete(nameOf(address))
      for (const letter of held) this.#tell(letter)
    }
  }
}
