import { performance } from 'node:perf_hooks'

/** Time as a client sees it, injected: the simulator drives the real client with a clock of its own. */
export interface ClientClock {
  /** Never goes back. May stand still while the machine sleeps. */
  monoMs(): number
  /** Runs on while the machine sleeps. May jump either way. */
  wallMs(): number
  /** Calls back once, so many milliseconds from now; does not keep the process alive. Returns how to call it off. */
  after(delayMs: number, callback: () => void): () => void
  /** Keeps the process alive until it is let go. */
  stayAwake(): () => void
}

const TIMER_MAX_MS = 2 ** 31 - 1

export function systemClientClock(): ClientClock {
  let awake = 0
  /** Something that is always pending: whether it counts decides whether the process lives. */
  let anchor: NodeJS.Timeout | undefined
  return {
    monoMs: () => performance.now(),
    wallMs: () => Date.now(),
    after(delayMs, callback) {
      const timer = setTimeout(callback, Math.min(Math.max(0, Math.ceil(delayMs)), TIMER_MAX_MS))
      timer.unref()
      return () => clearTimeout(timer)
    },
    stayAwake() {
      if (awake++ === 0) {
        anchor ??= setInterval(() => {}, TIMER_MAX_MS)
        anchor.ref()
      }
      let held = true
      return () => {
        if (!held) return
        held = false
        if (--awake === 0) anchor?.unref()
      }
    },
  }
}

/** Resolves after a while; rejects with the signal's reason if that comes first. */
export function pause(clock: ClientClock, delayMs: number, signal?: AbortSignal): Promise<void> {
  let cancel = () => {}
  const over = new Promise<void>((resolve) => {
    cancel = clock.after(delayMs, resolve)
  })
  return abortable(over, signal).finally(cancel)
}

/** Tells when a signal aborts, also if it has already. Returns how to stop. */
export function onAbort(signal: AbortSignal, tell: (reason: unknown) => void): () => void {
  const abort = () => tell(signal.reason)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  return () => signal.removeEventListener('abort', abort)
}

/** The promise, or the signal's reason as soon as it aborts: nothing that is given up is waited for. */
export function abortable<Value>(promise: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  if (!signal) return promise
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
