import type { ResourceView } from '@baton-lock/core'
import { computed, signal } from '@preact/signals'
import { nameOf, type ResourceName } from '../name.ts'
import type { Row } from '../resource/why.ts'

/** The resources that the page knows, each as it was when it was last read. */
export class Rows {
  /** Rises with every change: whoever shows rows looks at it. */
  readonly version = signal(0)
  readonly #rows = new Map<ResourceName, Row>()

  /** All of them, in no order. */
  readonly all = computed(() => {
    this.version.value
    return [...this.#rows.values()]
  })

  get size(): number {
    return this.#rows.size
  }

  get(name: ResourceName): Row | undefined {
    return this.#rows.get(name)
  }

  /** Takes these in; what has nothing to show any more goes. */
  put(views: readonly ResourceView[], readAtMs: number): void {
    for (const view of views) {
      const name = nameOf(view)
      if (isIdle(view)) this.#rows.delete(name)
      else this.#rows.set(name, { view, readAtMs })
    }
    if (views.length > 0) this.version.value++
  }

  /** Forgets those that were last read before this. */
  dropBefore(readAtMs: number): void {
    for (const [name, row] of this.#rows) if (row.readAtMs < readAtMs) this.#rows.delete(name)
    this.version.value++
  }

  clear(): void {
    this.#rows.clear()
    this.version.value++
  }
}

function isIdle({ grants, waiting, references, kept, recent }: ResourceView): boolean {
  return grants.length + waiting + references.length + kept.length + recent.length === 0
}
