import { expect, test } from 'vitest'
import { type Acquire, defaultPolicy, viewOf } from '../../core/index.ts'
import { Resident } from './resident.ts'

const r = { namespace: 'default', resource: 'r' }
const ask = (node: string): Acquire => ({
  type: 'acquire',
  operation: 'lock',
  node,
  owner: node,
  hold: '1',
  ttlMs: 30_000,
  session: node,
})

/** Held by a, and b waits; the sessions of each live so long. */
function heldAndWaitedFor(ttlMs: { readonly a: number; readonly b: number }): Resident {
  const resident = new Resident({ policy: { version: 1, policy: defaultPolicy } })
  for (const node of ['a', 'b'] as const) {
    resident.openSession({ session: node, node, ttlMs: ttlMs[node] }, 0)
    resident.step(r, { command: ask(node), nowMs: 0 })
  }
  return resident
}

test('who reads after the end of a session sees it ended, though nobody has swept', () => {
  const resident = heldAndWaitedFor({ a: 1_000, b: 5_000 })
  expect(viewOf(resident.read(r, 999)!).grants).toMatchObject([{ node: 'a' }])
  expect(viewOf(resident.read(r, 1_000)!).grants).toMatchObject([{ node: 'b' }])
})

test('what a session leaves behind goes to nobody whose own session is over', () => {
  const resident = heldAndWaitedFor({ a: 5_000, b: 1_000 })
  const granted: string[] = []
  resident.journal = {
    ran: ({ events }) => {
      for (const event of events) if (event.type === 'granted') granted.push(event.asker.owner)
    },
  }
  resident.closeSession('a', 2_000)
  expect(granted).toEqual([])
})
