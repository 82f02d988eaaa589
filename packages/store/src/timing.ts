import { randomBytes } from 'node:crypto'
import { performance } from 'node:perf_hooks'

/** Time and chance as a store that talks to others needs them: to give up, to try again, to spread what comes at once. */
export interface Timing {
  /** Monotonic milliseconds from an arbitrary start. */
  monoMs(): number
  pause(ms: number): Promise<void>
  /** Calls back once so much time has passed, unless that is cancelled; no process lives on for it. */
  after(ms: number, callback: () => void): () => void
  /** Keeps the process alive, which would else end while nothing but others can go on, until that is cancelled. */
  holdProcess(): () => void
  /** Resolves as `promise` does, or rejects with what `late` gives once so much time has passed. */
  within<Result>(limitMs: number, promise: Promise<Result>, late: () => Error): Promise<Result>
  /** By the clock on the wall: for those who compare what several processes have written. */
  wallMs(): number
  /** From 0 to 1. */
  random(): number
  /** A name that no other process has. */
  uniqueName(): string
}

/** Time and chance of this process. */
export const systemTiming: Timing = {
  monoMs: () => performance.now(),
  pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  after: (ms, callback) => {
    const timer = setTimeout(callback, ms)
    timer.unref()
    return () => clearTimeout(timer)
  },
  holdProcess: () => {
    const timer = setInterval(() => {}, 2 ** 30)
    return () => clearInterval(timer)
  },
  within: async (limitMs, promise, late) => {
    let timer: NodeJS.Timeout | undefined
    const limit = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(late()), limitMs)
    })
    promise.catch(() => {})
    try {
      return await Promise.race([promise, limit])
    } finally {
      clearTimeout(timer)
    }
  },
  wallMs: () => Date.now(),
  random: () => Math.random(),
  uniqueName: () => randomBytes(9).toString('hex'),
}
