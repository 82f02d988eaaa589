import type { Admitted } from '../v1/admission.ts'

/** A request that was admitted, by its number on the stream. */
export interface NumberedRequest extends Admitted {
  readonly number: number
  /** Of its frame: the numbers of releases that have to be remembered. */
  readonly keep: readonly number[] | undefined
}

interface ReadsOptions {
  readonly answer: (read: NumberedRequest) => Promise<void>
  /** False while the client has not taken what it was told, and for good when it has gone. */
  readonly mayGoOn: () => boolean
}

/** The reads of one client, one at a time and in their order: what it does not take is not made. */
export class Reads {
  readonly #options: ReadsOptions
  #waiting: NumberedRequest[] = []
  #isReading = false

  constructor(options: ReadsOptions) {
    this.#options = options
  }

  add(reads: readonly NumberedRequest[]): void {
    if (reads.length === 0) return
    this.#waiting.push(...reads)
    void this.goOn()
  }

  async goOn(): Promise<void> {
    if (this.#isReading) return
    this.#isReading = true
    while (this.#waiting.length > 0 && this.#options.mayGoOn()) await this.#options.answer(this.#waiting.shift()!)
    this.#isReading = false
  }

  clear(): void {
    this.#waiting = []
  }
}
