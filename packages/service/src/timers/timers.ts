/** Injected timers; the simulated clock of tests implements them too. */
export interface Timers {
  /** Calls back once after this delay. Returns a function that cancels it. */
  after(delayMs: number, callback: () => void): () => void
}

/** The wall-clock time of this machine. */
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
