import { constants } from 'node:os'

export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP'

const STOP_SIGNALS: readonly StopSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP']

/** Hears the signals that ask a program to end, while the work goes on. */
export async function hearing<Result>(
  listener: (signal: StopSignal) => void,
  work: () => Promise<Result>,
): Promise<Result> {
  for (const signal of STOP_SIGNALS) process.on(signal, listener)
  try {
    return await work()
  } finally {
    for (const signal of STOP_SIGNALS) process.off(signal, listener)
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
  const onStop = (signal: StopSignal) => {
    code ||= exitOfSignal(signal)
    stop.abort()
  }
  try {
    await hearing(onStop, () => work(stop.signal))
  } catch (error) {
    if (!stop.signal.aborted) throw error
  }
  return code
}
