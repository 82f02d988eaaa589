import { processMs } from '@baton-lock/service/timers/clock'
import { settled } from '@baton-lock/store/conformance/simulated-clock'
import type { Store } from '@baton-lock/store/store'
import { ask, overlaid, UNREAD_BYTES, world } from '@baton-lock/test-support/server-connection'
import { expect, test } from 'vitest'

const read = { type: 'get-resource', resource: 'r' }
const many = (count: number) => Array.from({ length: count }, () => read)

/** A client, and how often the store was read for it; each read takes some milliseconds of work. */
function reader({ ms = 0 } = {}) {
  const counted = { reads: 0 }
  const wrap = (store: Store) =>
    overlaid(store, {
      read: (...asked) => {
        counted.reads++
        const untilMs = processMs() + ms
        while (processMs() < untilMs);
        return store.read(...asked)
      },
    })
  const { open, service } = world({ wrap })
  return { ...open(), open, service, counted }
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await settled()
}

test('the reads of a frame are answered in their order, after its steps', async () => {
  const { send, replies } = reader()
  await send({ from: 1, requests: [read, { type: 'get-resource', resource: 'other' }, ask('h1'), read] })
  await turns(5)
  expect(replies().map(([number]) => number)).toEqual([3, 1, 2, 4])
  expect(replies()[1]).toMatchObject([1, { resource: { grants: [{ operation: 'lock' }] } }])
})

test('the steps of others, and of the client itself, do not wait for its reads', async () => {
  const { send, replies, open, counted } = reader({ ms: 3 })
  await send({ from: 1, requests: many(100) })
  const other = open()
  await other.send({ from: 1, requests: [ask('h1')] })
  await send({ from: 101, requests: [ask('h2')] })
  expect(counted.reads).toBeLessThan(50)
  expect(other.replies().map(([number]) => number)).toEqual([1])
  expect(replies().map(([number]) => number)).toContain(101)
  await turns(120)
  expect(replies()).toHaveLength(101)
})

test('a client that does not take its replies gets no more of them made', async () => {
  const { send, wire, connection, replies, counted } = reader()
  wire.unsent = UNREAD_BYTES
  await send({ from: 1, requests: many(10) })
  await turns(5)
  expect([counted.reads, replies().length]).toEqual([0, 0])
  wire.unsent = 0
  connection.drained()
  await turns(5)
  expect([counted.reads, replies().length]).toEqual([10, 10])
})

test('what a client has not been told is not read when it has gone', async () => {
  const { send, connection, counted } = reader({ ms: 3 })
  await send({ from: 1, requests: many(100) })
  await send({ from: 101, requests: many(100) })
  connection.close()
  const { reads } = counted
  await turns(20)
  expect(reads).toBeGreaterThan(0)
  expect(counted.reads).toBe(reads)
})

test('a read that fails is answered, and those after it too', async () => {
  const fails = (store: Store) =>
    overlaid(store, {
      read: (address) => (address.resource === 'bad' ? Promise.reject(new Error('no')) : store.read(address)),
    })
  const { send, replies } = world({ wrap: fails }).open()
  await send({ from: 1, requests: [{ type: 'get-resource', resource: 'bad' }, read] })
  await turns(5)
  expect(replies()).toMatchObject([
    [1, { code: 'unknown-outcome' }],
    [2, { status: 'resource' }],
  ])
})

test('those who begin to listen are told the state by and by, and none who has gone', async () => {
  const { send, connection, events, counted } = reader({ ms: 3 })
  const scope = { of: 'resource', namespace: 'default', resource: 'r' }
  await send({ listen: Array.from({ length: 100 }, (_, id) => ({ id, scope })) })
  expect(counted.reads).toBeLessThan(50)
  await turns(5)
  expect(events().length).toBeGreaterThan(0)
  connection.close()
  const { reads } = counted
  await turns(100)
  expect(counted.reads).toBe(reads)
})
