import { settled } from '@baton-lock/store/conformance/simulated-clock'
import type { Store } from '@baton-lock/store/store'
import { ask, at, overlaid, release, UNREAD_BYTES, world } from '@baton-lock/test-support/server-connection'
import { expect, test } from 'vitest'

test('a session is told what its own requests are not answered: a hand-over, and a revocation', async () => {
  const { open, service } = world()
  const { send, events } = open()
  await send({ from: 1, requests: [{ type: 'open-session', session: 's1', node: 'a', ttlMs: 10_000 }] })
  await send({ from: 2, requests: [ask('h0', { owner: 'before' })] })
  await send({ listen: [{ id: 7, scope: { of: 'session', session: 's1' } }] })
  expect(events()).toMatchObject([[7, expect.any(String), { type: 'state', of: 'session', alive: true }]])
  await send({ from: 3, requests: [ask('h1', { session: 's1' })] })
  expect(events()).toHaveLength(1)
  await send({ from: 4, requests: [release('h0', 1, { owner: 'before' })] })
  expect(events().slice(1)).toMatchObject([[7, expect.any(String), { type: 'granted', handOver: true, owner: 'a' }]])
  await send({ from: 5, requests: [ask('h1', { session: 's1' })] })
  expect(events()).toHaveLength(2)
  await service.call({ type: 'revoke', namespace: 'default', operation: 'lock', resource: 'r' })
  await settled()
  expect(events().slice(2)).toMatchObject([
    [7, expect.any(String), { type: 'ended', outcome: { outcome: 'revoked' }, fence: 2 }],
  ])
})

test('events come by the number of their listen, until it ends', async () => {
  const { open } = world()
  const one = open()
  const other = open()
  await one.send({
    listen: [
      { id: 1, scope: { of: 'resource', namespace: 'default', resource: 'r' } },
      { id: 2, scope: { of: 'all', namespace: 'elsewhere' } },
    ],
  })
  await other.send({ from: 1, requests: [ask('h1')] })
  const types = () => one.events().map(([id, , event]) => `${id} ${event.type}`)
  expect(types().slice(0, 2).sort()).toEqual(['1 state', '2 state'])
  expect(types().slice(2)).toEqual(['1 granted'])
  await one.send({ unlisten: [1, 99] })
  await other.send({ from: 2, requests: [release('h1', 1)] })
  expect(types()).toHaveLength(3)
})

test('who may not listen is told so, and may use the number again', async () => {
  const { send, frames } = world().open()
  await send({ listen: [{ id: 1, scope: { of: 'session', session: 'forbidden' } }] })
  expect(frames.at(-1)).toMatchObject({ ended: [[1, { status: 'refused', code: 'unknown-outcome' }]] })
  await send({ listen: [{ id: 1, scope: { of: 'all' } }] })
  expect(frames.at(-1)).toMatchObject({ events: [[1, expect.any(String), { type: 'state' }]] })
})

test('a client that does not read its answers is not read, until it does', async () => {
  const { send, wire, reading, connection } = world().open()
  wire.unsent = UNREAD_BYTES / 2 + 1
  await send({ from: 1, requests: [ask('h1')] })
  expect(reading).toEqual(['pause'])
  connection.drained()
  expect(reading).toEqual(['pause'])
  wire.unsent = 0
  connection.drained()
  expect(reading).toEqual(['pause', 'resume'])
})

test('a client that leaves more unread than it may is cut off, and told nothing more of that', async () => {
  const { send, wire, ends, frames } = world().open()
  wire.unsent = UNREAD_BYTES + 1
  await send({ from: 1, requests: [ask('h1')] })
  expect(ends).toEqual([expect.stringMatching(/^slow: /)])
  expect(frames).toHaveLength(1)
})

test('more unanswered requests than there may be are not read on', async () => {
  const synced: (() => void)[] = []
  const wrap = (store: Store) =>
    overlaid(store, {
      durable: () => new Promise<void>((resolve) => synced.push(resolve)),
    })
  const { connection, reading } = world({ wrap }).open()
  const cancel = { type: 'cancel', ...at, hold: 'h' }
  for (let frame = 0; frame < 11; frame++)
    connection.receive(JSON.stringify({ from: 1 + frame * 1_000, requests: Array(1_000).fill(cancel) }))
  expect(reading).toEqual(['pause'])
  for (const each of synced) each()
  await settled()
  expect(reading).toEqual(['pause', 'resume'])
})

test.each([
  ['no JSON', 'hello'],
  ['numbers that do not rise', '{"from":1,"requests":[{"type":"get-policy"}]}'],
  ['an answer acknowledged that was never asked for', '{"acked":2}'],
  ['a listen twice', '{"listen":[{"id":1,"scope":{"of":"all"}},{"id":1,"scope":{"of":"all"}}]}'],
])('a client that sends %s has broken a rule, and is not heard any more', async (_, text) => {
  const { connection, send, ends, replies } = world().open()
  await send({ from: 1, requests: [{ type: 'get-policy' }] })
  connection.receive(text)
  expect(ends).toEqual([expect.stringMatching(/^broken: /)])
  await send({ from: 10, requests: [ask('h1')] })
  expect(replies().map(([number]) => number)).toEqual([1])
  expect(ends).toHaveLength(1)
})

test('nobody listens for a connection that was closed', async () => {
  const { open } = world()
  const { connection, send, frames } = open()
  await send({ listen: [{ id: 1, scope: { of: 'all' } }] })
  connection.close()
  await open().send({ from: 1, requests: [ask('h1')] })
  expect(frames).toHaveLength(2)
})
