/** Waiting, injected: the simulated clock of the tests implements it too. */
export interface Timers {
  /** Calls back once, so many milliseconds from now. Returns how to call it off. */
  after(delayMs: number, callback: () => void): () => void
}

/** The time of day, by the clock of this machine. */
export function systemWallMs(): number {
  return Date.now()
}

/** The timers of this process. They do not keep it alive. */
export const systemTimers: Timers = {
  after(delayMs, callback) {
    const timer = setTimeout(callback, Math.min(delayMs, 2 ** 31 - 1))
    timer.unref()
    return () => clearTimeout(timer)
  },
}
