import { constants } from 'node:os'

export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP'

const STOP_SIGNALS: readonly StopSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP']

/** Hears the signals that ask a program to end. Dispose of it to let them end the program again. */
export function onStopSignal(listener: (signal: StopSignal) => void): Disposable {
  for (const signal of STOP_SIGNALS) process.on(signal, listener)
  return {
    [Symbol.dispose]() {
      for (const signal of STOP_SIGNALS) process.off(signal, listener)
    },
  }
}

/** As a shell says that something was ended by a signal. */
export function exitOfSignal(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal]
}

/** Runs something that ends only when it is asked to: the exit code of the signal that did. */
export async function untilStopped(work: (signal: AbortSignal) => Promise<void>): Promise<number> {
  const stop = new AbortController()
  let code = 0
  using _listening = onStopSignal((signal) => {
    code ||= exitOfSignal(signal)
    stop.abort()
  })
  try {
    await work(stop.signal)
  } catch (error) {
    if (!stop.signal.aborted) throw error
  }
  return code
}
