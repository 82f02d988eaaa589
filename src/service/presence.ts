import { StoreUnavailable } from '../stores/store.ts'

/** Where it is said what an operator has to know; a server's log fits. */
export type Notice = (message: string, fields?: Readonly<Record<string, unknown>>) => void

/** Says once that the store has gone, and once that it is back. */
export class Presence {
  readonly #notice: Notice
  #isAway = false
  #ended = false

  constructor(notice: Notice) {
    this.#notice = notice
  }

  /** Passes on what came of something that was asked of the store. */
  async of<Result>(asked: Promise<Result>): Promise<Result> {
    try {
      const result = await asked
      if (this.#isAway) this.#notice('the store answers again')
      this.#isAway = false
      return result
    } catch (error) {
      if (error instanceof StoreUnavailable && !this.#isAway && !this.#ended) {
        this.#isAway = true
        this.#notice('the store does not answer', { reason: error.message })
      }
      throw error
    }
  }

  /** From now on it is no news that the store does not answer. */
  end(): void {
    this.#ended = true
  }
}
