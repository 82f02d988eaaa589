import type { GrantView, WaiterView } from '../core/index.ts'
import { onAbort } from './clock.ts'
import { BatonError, GrantLostError } from './errors.ts'
import type { OpenGrant } from './open-grant.ts'
import type { Closable, Wiring } from './wiring.ts'

/** What `whenUnavailable: 'run'` runs under: nothing. The fence is 0, and nobody is told of the outcome. */
export class WithoutGrant implements OpenGrant, Closable {
  readonly status = 'granted'
  readonly namespace: string
  readonly operation: string
  readonly resource: string
  readonly node: string
  readonly owner: string
  readonly fence = 0
  readonly attempt = 1
  readonly previous = undefined
  readonly signal: AbortSignal
  readonly #end = new AbortController()
  readonly #wiring: Wiring
  readonly #unlink: () => void
  readonly #openAt: number
  lost: GrantLostError | undefined
  #isOver = false

  constructor(
    wiring: Wiring,
    {
      namespace,
      operation,
      resource,
      owner,
      signal,
    }: Pick<OpenGrant, 'namespace' | 'operation' | 'resource' | 'owner'> & { signal?: AbortSignal | undefined },
  ) {
    this.#wiring = wiring
    this.namespace = namespace
    this.operation = operation
    this.resource = resource
    this.node = wiring.node
    this.owner = owner
    this.signal = this.#end.signal
    this.#unlink = signal ? onAbort(signal, (reason) => this.#end.abort(reason)) : () => {}
    this.#openAt = wiring.open.add(this)
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
    this.#report()
  }

  async fail(): Promise<void> {
    this.#report()
  }

  async cancel(): Promise<void> {
    this.#report()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#leave()
  }

  close(): void {
    this.lost = new GrantLostError('the client was closed')
    this.#leave()
    this.#end.abort(this.lost)
  }

  #report(): void {
    if (this.lost) throw this.lost
    if (this.#isOver) throw new BatonError('ended', `${this.operation} ${this.resource} was reported on before`)
    this.#leave()
  }

  #leave(): void {
    this.#isOver = true
    this.#wiring.open.remove(this, this.#openAt)
    this.#unlink()
  }
}
