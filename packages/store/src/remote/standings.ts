import { type Standing, standingOf } from '@baton-lock/core'
import { nameOf } from '../address.ts'
import type { Address, AskAt } from '../store.ts'
import type { View } from '../views.ts'

/** So many are looked at together. */
const TOGETHER = 32

interface Waiting {
  readonly ask: AskAt
  readonly resolve: (standing: Standing) => void
  readonly reject: (error: unknown) => void
}

type Inspect = <Result>(address: Address, view: View<Result>, asks: readonly AskAt[]) => Promise<Result | undefined>

/**
 * Where asks stand. Whoever comes back with many places in one queue wants to know it of all of them at once: those of one
 * resource that are asked about in the same turn are answered by one look.
 */
export class Standings {
  readonly #inspect: Inspect
  readonly #gathered = new Map<string, Waiting[]>()

  constructor(inspect: Inspect) {
    this.#inspect = inspect
  }

  of(ask: AskAt): Promise<Standing> {
    return new Promise((resolve, reject) => {
      const name = nameOf(ask)
      const gathered = this.#gathered.get(name) ?? []
      gathered.push({ ask, resolve, reject })
      if (gathered.length === 1) process.nextTick(() => this.#look(name))
      this.#gathered.set(name, gathered)
    })
  }

  #look(name: string): void {
    const gathered = this.#gathered.get(name)!
    this.#gathered.delete(name)
    while (gathered.length > 0) void this.#answer(gathered.splice(0, TOGETHER))
  }

  async #answer(waiting: readonly Waiting[]): Promise<void> {
    const asks = waiting.map(({ ask }) => ask)
    try {
      const view: View<readonly Standing[]> = (resource, context) =>
        asks.map((ask) => standingOf(resource, context, ask))
      const standings = await this.#inspect(asks[0]!, view, asks)
      for (const [at, { resolve }] of waiting.entries()) resolve(standings?.[at] ?? { status: 'nothing' })
    } catch (error) {
      for (const { reject } of waiting) reject(error)
    }
  }
}
