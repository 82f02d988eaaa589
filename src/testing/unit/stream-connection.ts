import type { UnavailableError } from '../../client/errors.ts'
import { Asks } from '../../client/stream/asks.ts'
import { Connection } from '../../client/stream/connection.ts'
import type { WireEnd } from '../../client/stream/wire.ts'
import { type InputOf, promised } from '../../client/transport.ts'
import type { RequestType } from '../../protocol/index.ts'
import { SimulatedClock } from '../index.ts'
import { clientClockOf } from './client-clock.ts'
import { type FarEnd, testDial } from './client-stream.ts'

/* One connection of a client, by itself, and what is sent on it. */

interface Opened {
  readonly connection: Connection
  readonly far: FarEnd
  readonly clock: SimulatedClock
  /** Why it was found to be of no use. */
  readonly useless: WireEnd[]
  /** How often the server has said that it is about to stop. */
  readonly draining: () => number
}

export function open({ clock = new SimulatedClock(), asks = new Asks() } = {}): Opened {
  const { dial, ends } = testDial()
  const useless: WireEnd[] = []
  let draining = 0
  const wire = dial(new URL('http://a'), {
    onText: (text) => connection.onText(text),
    onBeat: () => connection.onBeat(),
    onEnd: () => {},
  })
  const connection: Connection = new Connection({
    wire,
    clock: clientClockOf(clock),
    asks,
    onGreeting: () => {},
    onDraining: () => draining++,
    onUseless: (end) => {
      useless.push(end)
      connection.end(end.error as UnavailableError)
    },
  })
  return { connection, far: ends[0]!, clock, useless, draining: () => draining }
}

export function callOn(connection: Connection, request: InputOf<RequestType>, limitMs: number) {
  return promised((tell) => connection.send(request, limitMs, tell))
}

/** Longer than a request waits for others. */
export const HOLD_MS = 10

export const ask = (hold: string) =>
  ({ type: 'acquire', operation: 'lock', resource: 'r', node: 'a', owner: 'a', hold }) as const
export const release = (hold: string) =>
  ({
    type: 'release',
    operation: 'lock',
    resource: 'r',
    node: 'a',
    owner: 'a',
    hold,
    fence: 1,
    outcome: 'success',
  }) as const
export const granted = { status: 'granted', fence: 1, attempt: 1 }
export const released = { status: 'released', outcome: 'success', holdsLeft: 0 }
export const renewal = { type: 'renew-session', session: 's' } as const
export const alive = { status: 'alive', ttlMs: 1_000, places: 0 }
