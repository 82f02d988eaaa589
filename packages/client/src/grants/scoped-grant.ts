import type { GrantView, Json, WaiterView } from '@baton-lock/core'
import type { Lock, Grant as PublicGrant, SuccessOptions } from '../api.ts'
import type { Grant } from './grant.ts'
import { GrantFields } from './grant-fields.ts'

/**
 * A grant whose scope is that of this object. The client keeps the grant, but not this object, so it notices if the caller has dropped it
 * without a release.
 */
export class ScopedGrant extends GrantFields implements PublicGrant, Lock {
  readonly #grant: Grant

  constructor(grant: Grant) {
    super(grant, grant)
    this.#grant = grant
    grant.scope = this
  }

  /** Whoever has it may rely on it without this object. */
  get signal(): AbortSignal {
    this.#grant.keepScope(this)
    return this.#grant.signal
  }

  get state(): string {
    return this.#grant.state
  }

  get isHeld(): boolean {
    return this.#grant.isHeld
  }

  get remainingMs(): number {
    return this.#grant.remainingMs
  }

  // As in a callback's context, these need no `this`.

  get throwIfLost(): () => void {
    return () => this.#grant.throwIfLost()
  }

  get waiters(): () => Promise<readonly WaiterView[]> {
    return () => this.#grant.waiters()
  }

  get holders(): () => Promise<readonly GrantView[]> {
    return () => this.#grant.holders()
  }

  get progress(): (progress: Json) => void {
    return (progress) => this.#grant.progress(progress)
  }

  succeed(result?: unknown, options?: SuccessOptions): Promise<void> {
    return this.#grant.succeed(result, options)
  }

  fail(error: unknown, options?: { readonly permanent?: boolean }): Promise<void> {
    return this.#grant.fail(error, options)
  }

  cancel(): Promise<void> {
    return this.#grant.cancel()
  }

  release(): Promise<void> {
    return this.#grant.release()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#grant[Symbol.asyncDispose]()
  }
}
