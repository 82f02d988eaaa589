import type { Policy, ResourceView } from '../../core/index.ts'
import type { Service } from '../../service/index.ts'
import { type ClassicKey, NAMESPACE } from './ask.ts'

/** A key as it was at one moment, with the policy that counted then. */
export interface Seen {
  readonly view: ResourceView
  readonly policy: Policy
  readonly operation: string
  readonly nowMs: number
}

export async function lookAt({ resource, operation }: ClassicKey, service: Service): Promise<Seen> {
  const [found, table] = await Promise.all([
    service.call({ type: 'get-resource', namespace: NAMESPACE, resource }),
    service.call({ type: 'get-policy' }),
  ])
  if (found.status === 'refused' || table.status === 'refused') throw new Error('a read is never refused')
  return { view: found.resource, policy: table.policy, operation, nowMs: service.nowMs() }
}

const FRESH_MS = 100

/** Ten thousand who subscribe at once are shown the same look, until something happens. */
export class KeyView {
  readonly #key: ClassicKey
  readonly #service: Service
  #last: { readonly seen: Promise<Seen>; readonly untilMs: number } | undefined

  constructor(key: ClassicKey, service: Service) {
    this.#key = key
    this.#service = service
  }

  changed(): void {
    this.#last = undefined
  }

  look(): Promise<Seen> {
    const nowMs = this.#service.nowMs()
    if (!this.#last || nowMs >= this.#last.untilMs) {
      const seen = lookAt(this.#key, this.#service)
      seen.catch(() => this.changed())
      this.#last = { seen, untilMs: nowMs + FRESH_MS }
    }
    return this.#last.seen
  }
}
