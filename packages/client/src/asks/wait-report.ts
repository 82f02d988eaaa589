import type { Json, Queued } from '@baton-lock/core'
import type { AskTrace } from '../traces/ask-span.ts'
import type { AskSpec } from './ask-spec.ts'

/** Tells a caller that waits its position, and the progress of the holder, whenever they change. */
export class WaitReport {
  readonly #spec: AskSpec
  readonly #trace: AskTrace | undefined
  readonly #onThrow: (error: unknown) => void
  #position = 0
  #progressJson = ''

  /** `onThrow` gets what the caller's own callback throws. */
  constructor(spec: AskSpec, trace: AskTrace | undefined, onThrow: (error: unknown) => void) {
    this.#spec = spec
    this.#trace = trace
    this.#onThrow = onThrow
  }

  /** The last known position; 0 before the first. */
  get position(): number {
    return this.#position
  }

  queued({ position, progress }: Queued): void {
    if (position !== this.#position) {
      this.#position = position
      this.#trace?.queued(position)
      this.#call(() => this.#spec.onQueued?.(position))
    }
    if (progress !== undefined) this.progress(progress)
  }

  progress(progress: Json): void {
    const json = JSON.stringify(progress)
    if (json === this.#progressJson) return
    this.#progressJson = json
    this.#call(() => this.#spec.onProgress?.(progress))
  }

  handedOver(): void {
    this.#trace?.handedOver()
  }

  #call(call: () => void): void {
    try {
      call()
    } catch (error) {
      this.#onThrow(error)
    }
  }
}
