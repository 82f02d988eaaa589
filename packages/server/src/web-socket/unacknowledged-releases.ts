import type { AskAt, Asked } from '@baton-lock/service'

/** Releases that were answered: what they ended is remembered until the client acknowledges the answer. */
export class Released {
  /** Oldest first. */
  #told: { readonly number: number; readonly ask: AskAt }[] = []

  add(number: number, { request }: Asked): void {
    // Without a node it means whichever its asker may act for, which is not known when it is acknowledged.
    if (request.type !== 'release' || request.node === undefined) return
    const { namespace, resource, operation, node, owner, hold } = request
    this.#told.push({ number, ask: { namespace, resource, operation, node, owner, hold } })
  }

  /** Takes those up to this number. */
  upTo(number: number): readonly AskAt[] {
    const told = this.#told
    let count = 0
    while (count < told.length && told[count]!.number <= number) count++
    if (count === 0) return NONE
    this.#told = told.slice(count)
    return told.slice(0, count).map(({ ask }) => ask)
  }
}

const NONE: readonly AskAt[] = []
