/**
 * The clock of the server's store, as far as a page can know it: that of the last reply, and what has passed here since.
 * All ages and countdowns go by it, never by the clock of the browser.
 */
export class ServerClock {
  readonly #monoMs: () => number
  #offsetMs: number | undefined

  constructor(monoMs: () => number) {
    this.#monoMs = monoMs
  }

  /** A reply said that it is so late there. It was under way for a little: what was read soonest is nearest. */
  set(nowMs: number): void {
    const offsetMs = nowMs - this.#monoMs()
    const isJump = this.#offsetMs === undefined || Math.abs(offsetMs - this.#offsetMs) > JUMP_MS
    // A later reading can only be more right if it says more: some of the way back was shorter.
    this.#offsetMs = isJump ? offsetMs : Math.max(offsetMs, this.#offsetMs! - DRIFT_MS)
  }

  get isKnown(): boolean {
    return this.#offsetMs !== undefined
  }

  nowMs(): number {
    return this.#monoMs() + (this.#offsetMs ?? 0)
  }
}

/** The server's clock stands still while its process does, and may so fall behind. */
const JUMP_MS = 1_000
/** One reading is allowed to take back so much of the ones before it. */
const DRIFT_MS = 5
