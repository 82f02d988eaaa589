import type { Service } from '@baton-lock/service'
import { type ClassicKey, NAMESPACE } from './ask.ts'

/** A success that waiting clients of a key take for their own. */
export interface Success {
  readonly fence: number
  readonly node: string
  readonly atMs: number
}

const FRESH_MS = 100

/** What a new subscriber is told. Ten thousand who subscribe at once are shown the same look, until something happens. */
export class LateSuccess {
  readonly #key: ClassicKey
  readonly #service: Service
  #last: { readonly seen: Promise<Success | undefined>; readonly untilMs: number } | undefined

  constructor(key: ClassicKey, service: Service) {
    this.#key = key
    this.#service = service
  }

  changed(): void {
    this.#last = undefined
  }

  look(): Promise<Success | undefined> {
    const nowMs = this.#service.nowMs()
    if (!this.#last || nowMs >= this.#last.untilMs) {
      const seen = this.#ask(nowMs)
      seen.catch(() => this.changed())
      this.#last = { seen, untilMs: nowMs + FRESH_MS }
    }
    return this.#last.seen
  }

  async #ask(nowMs: number): Promise<Success | undefined> {
    const { resource, operation } = this.#key
    const skip = await this.#service.lateSkip({ namespace: NAMESPACE, resource }, operation)
    if (!skip) return undefined
    // A skip that rests on references alone names nobody: any of them will do.
    const node = skip.by ?? (await this.#service.look({ namespace: NAMESPACE, resource }))?.references[0] ?? ''
    return { fence: skip.fence, node, atMs: skip.atMs ?? nowMs }
  }
}
