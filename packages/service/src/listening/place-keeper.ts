import type { ActorName, Facts } from '@baton-lock/core'
import type { Address } from '@baton-lock/store/store'
import type { Steps } from '../requests/steps.ts'
import type { Timers } from '../timers/timers.ts'

const RENEW_MS = 20_000

/** Renews the places in line of requests without a session, while somebody listens for them. One timer renews all. */
export class PlaceKeeper {
  readonly #steps: Steps
  readonly #timers: Timers
  readonly #places = new Set<Kept>()
  #cancel: (() => void) | undefined

  constructor(steps: Steps, timers: Timers) {
    this.#steps = steps
    this.#timers = timers
  }

  /** The step checks that the listener may act for the node. */
  keep({ namespace, resource, operation, node, owner }: Kept, { actsFor }: Facts): () => void {
    const place: Kept = { namespace, resource, operation, node, owner, actsFor }
    this.#places.add(place)
    this.#cancel ??= this.#timers.after(RENEW_MS, () => void this.#renewAll())
    // The place may be about to expire, so the next round could be too late.
    void this.#renew(place)
    return () => this.#places.delete(place)
  }

  stop(): void {
    this.#cancel?.()
    this.#places.clear()
  }

  async #renewAll(): Promise<void> {
    for (const place of [...this.#places]) await this.#renew(place)
    this.#cancel = this.#places.size > 0 ? this.#timers.after(RENEW_MS, () => void this.#renewAll()) : undefined
  }

  async #renew(place: Kept): Promise<void> {
    const { operation, node, owner, actsFor } = place
    // If the store is away, the next round renews the place, which lives for three rounds.
    const command = { type: 'renew', operation, node, owner } as const
    await this.#steps.takeOne({ address: place, command, facts: { actsFor } }).catch(() => {})
  }
}

type Kept = Address & ActorName & { readonly operation: string } & Pick<Facts, 'actsFor'>
