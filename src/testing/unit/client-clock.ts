import type { ClientClock } from '../../client/clock.ts'
import type { SimulatedClock } from '../index.ts'

/** Simulated time as a client sees it. */
export function clientClockOf(clock: SimulatedClock): ClientClock {
  return {
    monoMs: () => clock.nowMs(),
    wallMs: () => clock.nowMs(),
    after: (delayMs, callback) => clock.after(delayMs, callback),
    stayAwake: () => () => {},
  }
}
