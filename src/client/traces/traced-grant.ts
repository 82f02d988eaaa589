import type { GrantView, Json, PreviousAttempt, WaiterView } from '../../core/index.ts'
import type { SuccessOptions } from '../api.ts'
import type { GrantLostError } from '../errors.ts'
import type { OpenGrant } from '../open-grant.ts'

/** The span of a grant, to be told how that has ended. */
interface Ending {
  end(outcome: 'success' | 'failure' | 'cancelled' | 'lost', error?: unknown): void
}

/** A grant whose span ends with it: when its first outcome is acknowledged, or when it is lost. */
export class TracedGrant implements OpenGrant {
  readonly status = 'granted'
  readonly #grant: OpenGrant
  readonly #span: Ending
  #isReported = false

  constructor(grant: OpenGrant, span: Ending) {
    this.#grant = grant
    this.#span = span
  }

  get namespace(): string {
    return this.#grant.namespace
  }

  get operation(): string {
    return this.#grant.operation
  }

  get resource(): string {
    return this.#grant.resource
  }

  get node(): string {
    return this.#grant.node
  }

  get owner(): string {
    return this.#grant.owner
  }

  get fence(): number {
    return this.#grant.fence
  }

  get attempt(): number {
    return this.#grant.attempt
  }

  get previous(): PreviousAttempt | undefined {
    return this.#grant.previous
  }

  get signal(): AbortSignal {
    return this.#grant.signal
  }

  get lost(): GrantLostError | undefined {
    return this.#grant.lost
  }

  waiters(): Promise<readonly WaiterView[]> {
    return this.#grant.waiters()
  }

  holders(): Promise<readonly GrantView[]> {
    return this.#grant.holders()
  }

  progress(progress: Json): void {
    this.#grant.progress(progress)
  }

  succeed(result?: unknown, options?: SuccessOptions): Promise<void> {
    return this.#end(this.#grant.succeed(result, options), 'success')
  }

  fail(error: unknown, options?: { readonly permanent?: boolean }): Promise<void> {
    return this.#end(this.#grant.fail(error, options), 'failure', error)
  }

  cancel(): Promise<void> {
    return this.#end(this.#grant.cancel(), 'cancelled')
  }

  [Symbol.asyncDispose](): Promise<void> {
    const left = new Error('left without an outcome')
    return this.#end(this.#grant[Symbol.asyncDispose](), 'failure', left)
  }

  /** The first report counts. One that nobody takes is no end that others know of. */
  async #end(report: PromiseLike<void>, outcome: 'success' | 'failure' | 'cancelled', error?: unknown): Promise<void> {
    if (this.#isReported) return report
    this.#isReported = true
    try {
      await report
    } catch (notTaken) {
      this.#span.end('lost', notTaken)
      throw notTaken
    }
    this.#span.end(outcome, error)
  }
}
