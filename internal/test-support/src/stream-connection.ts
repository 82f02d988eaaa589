import { Connection } from '@baton-lock/client/connection/connection'
import { SentHolds } from '@baton-lock/client/connection/sent-holds'
import type { InputOf } from '@baton-lock/client/connection/transport'
import type { WireEnd } from '@baton-lock/client/connection/web-socket'
import type { UnavailableError } from '@baton-lock/client/errors'
import type { ReplyOf, RequestType } from '@baton-lock/protocol'
import { SimulatedClock } from '@baton-lock/store/conformance'
import { clientClockOf } from './client-clock.ts'
import { type FarEnd, testDial } from './client-stream.ts'

/* One connection of a client, by itself, and what is sent on it. */

interface Opened {
  readonly connection: Connection
  readonly far: FarEnd
  readonly clock: SimulatedClock
  /** Why it ended, or was found to be of no use. */
  readonly ended: WireEnd[]
  /** How often the server has said that it is about to stop. */
  readonly draining: () => number
}

export function open({ clock = new SimulatedClock(), sentHolds = new SentHolds() } = {}): Opened {
  const { dial, ends } = testDial()
  const ended: WireEnd[] = []
  let draining = 0
  const connection: Connection = new Connection({
    dial: (handlers) => dial(new URL('http://a'), handlers),
    clock: clientClockOf(clock),
    sentHolds,
    onGreeting: () => {},
    onDraining: () => draining++,
    onEnd: (end) => {
      ended.push(end)
      connection.end(end.error as UnavailableError)
    },
  })
  return { connection, far: ends[0]!, clock, ended, draining: () => draining }
}

/** A request on it, as a promise. */
export function callOn(connection: Connection, request: InputOf<RequestType>, timeoutMs: number) {
  return new Promise<ReplyOf<RequestType>>((resolve, reject) =>
    connection.send(request, timeoutMs, (reply, error) => (reply ? resolve(reply) : reject(error))),
  )
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
