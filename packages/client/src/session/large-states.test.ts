import { StateParts } from '@baton-lock/protocol'
import { newWorld, type OpenStream, quiet, type World } from '@baton-lock/test-support/server-world'
import { expect, onTestFinished, test } from 'vitest'
import { connect } from '../connect.ts'

const name = (index: number) => `${'a-rather-long-name-'.repeat(8)}${index}`

/** A session with so many places. */
async function heldBy(session: string, places: number, { service }: World): Promise<void> {
  await service.call({ type: 'open-session', session, node: 'n', ttlMs: 30_000 })
  for (let index = 0; index < places; index++) await service.call(ask(name(index), { session }))
}

function ask(resource: string, more: { session?: string; owner?: string } = {}) {
  const key = { namespace: 'default', resource, operation: 'lock', node: 'n', owner: 'o', hold: 'h' }
  return { type: 'acquire', ...key, ttlMs: 30_000, ...more } as const
}

/** The state that these events are parts of. */
function together(events: readonly Parameters<StateParts['add']>[0][]) {
  const parts = new StateParts()
  const states = events.map((event) => parts.add(event))
  expect(states.slice(0, -1).every((state) => state === undefined)).toBe(true)
  return states.at(-1)
}

function isComplete({ events }: OpenStream): boolean {
  return events().some(({ type, more }) => type === 'state' || more === false)
}

test('the state of a session with thousands of places comes in parts, and nobody is cut for it', async () => {
  const world = newWorld()
  await heldBy('s', 3_000, world)
  const stream = await world.stream('/v1/events', { 'baton-session': 's' })
  await stream.until(() => isComplete(stream))
  expect(stream.text().length).toBeGreaterThan(256 * 1024)
  expect(
    Math.max(
      ...stream
        .text()
        .split('\n')
        .map(({ length }) => length),
    ),
  ).toBeLessThan(70_000)
  const state = together(stream.events())
  expect(state).toMatchObject({ type: 'state', of: 'session', alive: true })
  const { places } = state as unknown as { places: { resource: string; standing: object }[] }
  expect(places.map(({ resource }) => resource)).toEqual(Array.from({ length: 3_000 }, (_, index) => name(index)))
  expect(places.at(-1)!.standing).toMatchObject({ status: 'granted', claimed: true })
  // Only who has all of it has something to come back with.
  expect(stream.ids()).toHaveLength(1)
  expect(world.app.streams.cut).toBe(0)
})

test('the state of a resource with thousands of references comes in parts, and what happens meanwhile follows it', async () => {
  const world = newWorld()
  const at = { namespace: 'default', resource: 'r' }
  for (let index = 0; index < 6_000; index++)
    await world.service.call({ type: 'add-reference', ...at, node: name(index) })
  await world.service.call(ask('r'))
  const before = await world.get('/v1/resource?resource=r')
  const stream = await world.stream('/v1/events?resource=r')
  await world.service.call({ type: 'add-reference', ...at, node: 'late' })
  await stream.until(() => stream.events().some(({ type }) => type === 'referenced'))
  const events = stream.events()
  expect(events.at(-1)).toMatchObject({ type: 'referenced', node: 'late' })
  const state = together(events.slice(0, -1))
  expect(state).toEqual({ type: 'state', of: 'resource', view: before.body.resource })
  expect(world.app.streams.cut).toBe(0)
})

test('a state that fits into one frame comes whole', async () => {
  const world = newWorld()
  await heldBy('s', 100, world)
  const stream = await world.stream('/v1/events', { 'baton-session': 's' })
  await stream.until(() => stream.events().length > 0)
  expect(stream.events()).toMatchObject([{ type: 'state', of: 'session', alive: true }])
})

test('a client with very many locks is handed another one over, on the stream that it has', async () => {
  const world = newWorld()
  const notices: string[] = []
  const baton = await connect(await world.url(), { node: 'n', onNotice: (notice) => notices.push(notice) })
  onTestFinished(() => baton.close())
  for (let from = 0; from < 1_000; from += 100)
    await Promise.all(Array.from({ length: 100 }, (_, index) => baton.acquire('lock', name(from + index))))
  const key = { namespace: 'default', operation: 'lock', node: 'other', owner: 'o', hold: 'h' }
  await world.service.call({ ...ask('r'), ...key })
  const waiting = baton.acquire('lock', 'r')
  while ((await world.service.counts()).waiters === 0) await quiet()
  await quiet()
  await world.service.call({ type: 'release', ...key, resource: 'r', fence: 1, outcome: 'success' })
  expect(await waiting).toMatchObject({ status: 'granted', fence: 2 })
  expect(notices.filter((notice) => notice.includes('stream'))).toEqual([])
})
