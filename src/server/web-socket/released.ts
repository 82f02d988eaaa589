import type { AskAt, Asked } from '../../service/index.ts'

/** Releases that a client was told of: what they ended is remembered until it says that it knows. */
export class Released {
  /** Oldest first. */
  #told: { readonly number: number; readonly ask: AskAt }[] = []

  add(number: number, { request }: Asked): void {
    // One that names no node means whichever its asker may act for, and that is not known when it is acknowledged.
    if (request.type !== 'release' || request.node === undefined) return
    const { namespace, resource, operation, node, owner, hold } = request
    this.#told.push({ number, ask: { namespace, resource, operation, node, owner, hold } })
  }

  /** Those up to this number, which are noted no longer. */
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
