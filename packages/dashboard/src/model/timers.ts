/** Waiting and time, injected: a browser's in the page, simulated in tests. */
export interface PageTimers {
  /** Calls back once, so many milliseconds from now. Returns how to call it off. */
  after(delayMs: number, callback: () => void): () => void
  /** Milliseconds that only go forward. */
  monoMs(): number
  /** From 0 to 1. */
  random(): number
}
