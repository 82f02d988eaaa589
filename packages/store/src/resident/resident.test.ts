import { type Acquire, defaultPolicy, viewOf } from '@baton-lock/core'
import { expect, test } from 'vitest'
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
      for (const { event } of events) if (event.type === 'granted') granted.push(event.owner)
    },
  }
  resident.closeSession('a', 2_000)
  expect(granted).toEqual([])
})

/** One session holds very many resources; b waits for the last of them. */
function heldBy(places: number) {
  const resident = new Resident({ policy: { version: 1, policy: defaultPolicy } })
  const at = (index: number) => ({ namespace: 'default', resource: `r${index}` })
  const last = at(places - 1)
  resident.openSession({ session: 'a', node: 'a', ttlMs: 10_000 }, 0)
  resident.openSession({ session: 'b', node: 'b', ttlMs: 60_000 }, 0)
  for (let index = 0; index < places; index++) resident.step(at(index), { command: ask('a'), nowMs: 0 })
  resident.step(last, { command: ask('b'), nowMs: 0 })
  let steps = 0
  const outcomes = new Set<string>()
  resident.journal = {
    ran: ({ events }) => {
      steps++
      for (const { event } of events) if (event.type === 'ended') outcomes.add(event.outcome.outcome)
    },
  }
  const stepsOf = (act: () => void) => {
    steps = 0
    act()
    return steps
  }
  return { resident, at, last, outcomes, stepsOf }
}

test.each([
  ['is closed', 'cancelled', (resident: Resident) => resident.closeSession('a', 1)],
  ['runs out', 'expired', (resident: Resident) => resident.sweep(1_000, 10_000)],
  ['has run out when somebody asks', 'expired', (resident: Resident) => void resident.read(r, 10_000)],
])('a session with very many places that %s gives way to others, and its places go in pieces', (_, outcome, end) => {
  const { resident, at, last, outcomes, stepsOf } = heldBy(5_000)
  expect(stepsOf(() => end(resident))).toBeLessThan(500)
  expect(resident.places('a')).toBeUndefined()
  // Whoever asks finds it ended, before its turn has come.
  expect(viewOf(resident.read(last, 10_000)!).grants).toMatchObject([{ node: 'b' }])
  expect(resident.read(at(4_000), 10_000)?.grants.size).toBe(0)
  expect(resident.step(at(3_000), { command: ask('b'), nowMs: 10_000 })).toMatchObject({ status: 'granted' })
  expect(resident.openSession({ session: 'a', node: 'a', ttlMs: 10_000 }, 10_000)).toMatchObject({ status: 'refused' })

  let sweeps = 0
  while (resident.nextDeadlineMs()! < 10_000 && sweeps < 1_000) {
    expect(stepsOf(() => resident.sweep(1_000, 10_000))).toBeLessThan(500)
    sweeps++
  }
  expect(sweeps).toBeGreaterThan(5)
  expect(resident.counts()).toMatchObject({ grants: 2, sessions: 1 })
  expect([...outcomes]).toEqual([outcome])
  expect(resident.openSession({ session: 'a', node: 'a', ttlMs: 10_000 }, 10_000)).toMatchObject({ places: 0 })
})

test('a page does not show what a session holds that has ended', async () => {
  const { resident } = heldBy(1_000)
  resident.closeSession('a', 1)
  const { resources } = await resident.list({ active: true, limit: 1_000 }, { clock: { nowMs: () => 1 } })
  expect(resources.flatMap(({ grants }) => grants)).toMatchObject([{ node: 'b' }])
})
