import type { Json, Queued } from '../core/index.ts'
import type { AskSpec } from './ask-spec.ts'

/** Tells a caller that waits its place in line, and how far the one is that it waits for: each when it has changed. */
export class WaitReport {
  readonly #spec: AskSpec
  readonly #onThrow: (error: unknown) => void
  #position = 0
  #progressJson = ''

  /** `onThrow`: told of what the caller's own callback throws. */
  constructor(spec: AskSpec, onThrow: (error: unknown) => void) {
    this.#spec = spec
    this.#onThrow = onThrow
  }

  queued({ position, progress }: Queued): void {
    if (position !== this.#position) {
      this.#position = position
      this.#spec.trace?.queued(position)
      this.#tell(() => this.#spec.onQueued?.(position))
    }
    if (progress !== undefined) this.progress(progress)
  }

  progress(progress: Json): void {
    const json = JSON.stringify(progress)
    if (json === this.#progressJson) return
    this.#progressJson = json
    this.#tell(() => this.#spec.onProgress?.(progress))
  }

  #tell(call: () => void): void {
    try {
      call()
    } catch (error) {
      this.#onThrow(error)
    }
  }
}
