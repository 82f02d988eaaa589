import type { StoreEvent } from '../stores/store.ts'

/** How much there is of each kind of what a client can grow. */
interface Used {
  /** Grants, and places in line. */
  places: number
  /** Resources that it uses. */
  references: number
}

/**
 * What each node has, by the events that this process hears: what was there before it began, it does not know of. So it
 * never counts too much, and a quota is never applied to one that does not have it.
 */
export class Usage {
  readonly #byNode = new Map<string, Used>()

  of(node: string): Readonly<Used> {
    return this.#byNode.get(node) ?? NOTHING
  }

  note(event: StoreEvent): void {
    switch (event.type) {
      case 'granted':
        // One that waited had its place already.
        if (!event.handOver) this.#change(event.asker.node, 'places', 1)
        return
      case 'queued':
        this.#change(event.asker.node, 'places', 1)
        return
      case 'left':
        this.#change(event.asker.node, 'places', -1)
        return
      case 'told':
        for (const { node } of event.askers) this.#change(node, 'places', -1)
        return
      case 'ended':
        this.#change(event.node, 'places', -1)
        return
      case 'referenced':
        this.#change(event.node, 'references', 1)
        return
      case 'dereferenced':
        this.#change(event.node, 'references', -1)
    }
  }

  /** Some may have been missed: it begins anew. */
  forget(): void {
    this.#byNode.clear()
  }

  #change(node: string, what: keyof Used, by: 1 | -1): void {
    let used = this.#byNode.get(node)
    if (!used) {
      if (by < 0) return
      used = { places: 0, references: 0 }
      this.#byNode.set(node, used)
    }
    used[what] = Math.max(0, used[what] + by)
    if (used.places === 0 && used.references === 0) this.#byNode.delete(node)
  }
}

const NOTHING: Used = { places: 0, references: 0 }
