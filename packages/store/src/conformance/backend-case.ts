import type { Waiter } from '@baton-lock/core'
import type { Backend, Change, Opened, Opening, Part, Wanted } from '../remote/index.ts'

import type { SimulatedClock } from './simulated-clock.ts'

export interface BackendCase {
  readonly claim: string
  /** Two processes on the same data. */
  readonly check: (first: Backend, second: Backend, clock: SimulatedClock) => Promise<void>
}

/** A resource of that id, with nothing more to be read. */
export function opening(resource: string, more: Partial<Opening> = {}): Opening {
  return { address: { namespace: 'default', resource }, sessions: [], parts: [], ...more }
}

/** A change of a resource that leaves everything as it is but what is named. */
export function change(resource: string, more: Partial<Change> = {}): Change {
  return {
    address: { namespace: 'default', resource },
    nowMs: 0,
    state: undefined,
    fence: 1,
    leavesFence: false,
    waiters: { appended: [], removed: [], renewed: [] },
    memories: [],
    places: { gained: [], lost: [] },
    sessions: [],
    letter: undefined,
    steps: [],
    ...more,
  }
}

/** A state of which only the text matters. */
export function written(text: string, more: Partial<Exclude<Change['state'], 'idle' | undefined>> = {}) {
  return { text, grants: 0, waiters: 0, queues: {}, dueAtMs: undefined, ...more }
}

/** One change in a transaction of its own. */
export async function commit(backend: Backend, made: Change): Promise<void> {
  await backend.transaction(async (transaction) => {
    await transaction.open([{ address: made.address, sessions: [], parts: [] }], 'wait')
    await transaction.commit([made])
  })
}

export function look(backend: Backend, wanted: Opening): Promise<Opened> {
  return backend.transaction((transaction) => transaction.open([wanted], 'read'))
}

/** Some part of a resource, read by itself after it was opened. */
export function readPart(backend: Backend, resource: string, wanted: Wanted): Promise<Part> {
  return backend.transaction(async (transaction) => {
    await transaction.open([opening(resource)], 'read')
    return transaction.read({ namespace: 'default', resource }, wanted)
  })
}

export function waiter(ticket: number, more: Partial<Waiter> = {}): Waiter {
  return {
    operation: 'pull',
    owner: `o${ticket}`,
    node: 'n',
    hold: '1',
    ticket,
    sinceMs: 1,
    revision: undefined,
    disbelieve: undefined,
    disbelieved: undefined,
    reference: true,
    waitUntilMs: undefined,
    lease: { session: 's' },
    ...more,
  }
}
