import { constants } from 'node:os'

const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
export type StopSignal = (typeof stopSignals)[number]

/**
 * The signals that are passed on to CMD. SIGKILL and SIGSTOP cannot be caught; SIGSEGV and the like report a fault of this
 * process; SIGTSTP and the like are sent by the shell to the whole job.
 */
export const passedSignals = [
  ...stopSignals,
  'SIGQUIT',
  'SIGUSR1',
  'SIGUSR2',
  'SIGWINCH',
  'SIGCONT',
  'SIGALRM',
  'SIGIO',
  'SIGURG',
  'SIGPWR',
] as const
export type PassedSignal = (typeof passedSignals)[number]

/** Those that ask a program to end. */
export function isStop(signal: PassedSignal): boolean {
  return signal === 'SIGQUIT' || stopSignals.some((stop) => stop === signal)
}

/** Hears signals while the work goes on; by default those that ask a program to end. */
export async function hearing<Result, Heard extends NodeJS.Signals = StopSignal>(
  listener: (signal: Heard) => void,
  work: () => Promise<Result>,
  signals: readonly Heard[] = stopSignals as readonly NodeJS.Signals[] as readonly Heard[],
): Promise<Result> {
  const heard = signals.filter((signal) => signal in constants.signals)
  const hear = listener as (signal: NodeJS.Signals) => void
  for (const signal of heard) process.on(signal, hear)
  try {
    return await work()
  } finally {
    for (const signal of heard) process.off(signal, hear)
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
