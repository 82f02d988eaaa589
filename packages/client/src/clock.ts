import { performance } from 'node:perf_hooks'

/** The time of a client. It is injected: the simulator runs the real client with a clock of its own. */
export interface ClientClock {
  /** Never goes back. It may stand still while the machine sleeps. */
  monoMs(): number
  /** Goes on while the machine sleeps. It may jump forward and back. */
  wallMs(): number
  /** Calls back once, after this delay; does not keep the process alive. Returns a function that cancels it. */
  after(delayMs: number, callback: () => void): () => void
  /** Keeps the process alive until the returned function is called. */
  stayAwake(): () => void
}

const TIMER_MAX_MS = 2 ** 31 - 1

export function systemClientClock(): ClientClock {
  let awake = 0
  /** A timer that is always pending; it is referenced while the process has to stay alive. */
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

/** Resolves after a delay; rejects with the signal's reason if it aborts first. */
export function pause(clock: ClientClock, delayMs: number, signal?: AbortSignal): Promise<void> {
  let cancel = () => {}
  const over = new Promise<void>((resolve) => {
    cancel = clock.after(delayMs, resolve)
  })
  return abortable(over, signal).finally(cancel)
}

/** Calls back when a signal aborts, or at once if it has. Returns a function that stops this. */
export function onAbort(signal: AbortSignal, tell: (reason: unknown) => void): () => void {
  const abort = () => tell(signal.reason)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  return () => signal.removeEventListener('abort', abort)
}

/** Settles as the promise does, or rejects with the signal's reason as soon as it aborts. */
export function abortable<Value>(promise: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  if (!signal) return promise
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
