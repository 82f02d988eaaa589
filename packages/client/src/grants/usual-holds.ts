import { formatDuration, type Place } from '@baton-lock/protocol'

interface Holds {
  count: number
  totalMs: number
}

/** One in so many short holds is measured and counts for all of them: to look each one up would make a short hold slower. */
const SAMPLE = 16
/** Fewer holds than this say nothing about what is usual. */
const ENOUGH = 10
const FACTOR = 10
/** What is shorter counts as this: the client has no timers for holds that last less than a second. */
const SHORT_MS = 1_000
/** Of the resources that were measured last. */
const RESOURCES_MAX = 1_000

/** How long this client usually holds each resource, so that a hold that lasts ten times longer is noticed. */
export class UsualHolds {
  readonly #holds = new Map<string, Holds>()
  #shortHolds = 0

  /** Whether the hold that ends now is to be measured. */
  isSampled(hasLasted: boolean): boolean {
    return hasLasted || ++this.#shortHolds % SAMPLE === 0
  }

  note(place: Place, heldMs: number, hasLasted: boolean): void {
    const name = nameOf(place)
    const holds = this.#holds.get(name) ?? { count: 0, totalMs: 0 }
    const weight = hasLasted ? 1 : SAMPLE
    holds.count += weight
    holds.totalMs += weight * heldMs
    this.#holds.delete(name)
    this.#holds.set(name, holds)
    if (this.#holds.size > RESOURCES_MAX) this.#holds.delete(this.#holds.keys().next().value!)
  }

  /** After how long a hold is worth a notice, and the notice; `undefined` if it is not known what is usual. */
  tooLong(place: Place): { readonly afterMs: number; readonly text: string } | undefined {
    const holds = this.#holds.get(nameOf(place))
    if (!holds || holds.count < ENOUGH) return undefined
    const usualMs = holds.totalMs / holds.count
    const afterMs = FACTOR * Math.max(usualMs, SHORT_MS)
    const text = `this client has held it for ${formatDuration(afterMs)}, and usually does for ${formatDuration(usualMs)}`
    return { afterMs, text }
  }
}

function nameOf({ namespace, operation, resource }: Place): string {
  return JSON.stringify([namespace, operation, resource])
}
