import type { GrantView, WaiterView } from '../core/index.ts'
import type { Grant } from './api.ts'
import { GrantLostError } from './errors.ts'
import type { Closable, Wiring } from './wiring.ts'

/** What `whenUnavailable: 'run'` runs under: nothing. The fence is 0, and nobody is told of the outcome. */
export class WithoutGrant implements Grant, Closable {
  readonly status = 'granted'
  readonly operation: string
  readonly resource: string
  readonly node: string
  readonly owner: string
  readonly fence = 0
  readonly attempt = 1
  readonly previous = undefined
  readonly signal: AbortSignal
  readonly #end = new AbortController()
  readonly #leave: () => void

  constructor(wiring: Wiring, { operation, resource, owner }: { operation: string; resource: string; owner: string }) {
    this.operation = operation
    this.resource = resource
    this.node = wiring.node
    this.owner = owner
    this.signal = this.#end.signal
    this.#leave = () => wiring.open.delete(this)
    wiring.open.add(this)
    wiring.notice(`nobody answers: ${operation} ${resource} runs without a grant`)
  }

  async waiters(): Promise<readonly WaiterView[]> {
    return []
  }

  async holders(): Promise<readonly GrantView[]> {
    return []
  }

  progress(): void {}

  async succeed(): Promise<void> {
    this.#leave()
  }

  async fail(): Promise<void> {
    this.#leave()
  }

  async cancel(): Promise<void> {
    this.#leave()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#leave()
  }

  close(): void {
    this.#leave()
    this.#end.abort(new GrantLostError('the client was closed'))
  }
}
