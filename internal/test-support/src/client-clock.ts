import type { ClientClock } from '@baton-lock/client/clock'
import type { SimulatedClock } from '@baton-lock/store/conformance'

/** Simulated time as a client sees it. */
export function clientClockOf(clock: SimulatedClock): ClientClock {
  return {
    monoMs: () => clock.nowMs(),
    wallMs: () => clock.nowMs(),
    after: (delayMs, callback) => clock.after(delayMs, callback),
    stayAwake: () => () => {},
  }
}
