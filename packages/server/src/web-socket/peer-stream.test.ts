import { settled } from '@baton-lock/store/conformance/simulated-clock'
import type { Store } from '@baton-lock/store/store'
import { ask, overlaid, release, world } from '@baton-lock/test-support/server-connection'
import { expect, test } from 'vitest'

test('the first frame is a greeting with the id of the store', () => {
  expect(world().open().frames).toEqual([{ store: 'memory' }])
})

test('the requests of a frame are answered by their numbers, in their order, in one frame', async () => {
  const { send, frames } = world().open()
  await send({ from: 1, requests: [ask('h1'), release('h1', 1), ask('h2'), { type: 'nonsense' }] })
  expect(frames).toHaveLength(2)
  const byNumber = new Map(frames[1]!.replies)
  expect([1, 2, 3, 4].map((number) => byNumber.get(number))).toMatchObject([
    { status: 'granted', fence: 1 },
    { status: 'released' },
    { status: 'granted', fence: 2 },
    { status: 'refused', code: 'bad-request' },
  ])
})

test('the steps of a frame wait for one sync together, and none is told before it', async () => {
  let syncs = 0
  let synced: () => void = () => {}
  const wrap = (store: Store) =>
    overlaid(store, {
      durable: () => {
        syncs++
        return new Promise<void>((resolve) => {
          synced = resolve
        })
      },
    })
  const { send, replies } = world({ wrap }).open()
  await send({ from: 1, requests: [ask('h1'), release('h1', 1), ask('h2')] })
  expect([syncs, replies().length]).toEqual([1, 0])
  synced()
  await settled()
  expect(replies().map(([number]) => number)).toEqual([1, 2, 3])
})

test('where the sync fails nobody is told that anything counts, and nothing is acknowledged', async () => {
  const wrap = (store: Store) => overlaid(store, { durable: () => Promise.reject(new Error('full')) })
  const { open, acknowledged } = world({ wrap })
  const { send, replies } = open()
  await send({ from: 1, requests: [ask('h1'), release('h1', 1)] })
  expect(replies().map(([, reply]) => (reply as { code?: string }).code)).toEqual([
    'unknown-outcome',
    'unknown-outcome',
  ])
  await send({ acked: 2 })
  expect(acknowledged).toEqual([])
})

test('what a request leaves out is what its connection has said last; what it says itself counts', async () => {
  const { open, service } = world()
  const { send, replies } = open()
  const bare = { type: 'acquire', operation: 'lock', resource: 'r', owner: 'a', ttlMs: 1_000 }
  await send({ defaults: { namespace: 'one', node: 'a' }, from: 1, requests: [{ ...bare, hold: 'h1' }] })
  await send({
    defaults: { namespace: 'two', node: 'b' },
    from: 2,
    requests: [
      { ...bare, hold: 'h2' },
      { ...bare, namespace: 'three', node: 'c', hold: 'h3' },
      { type: 'get-resource', resource: 'r' },
    ],
  })
  expect(replies().map(([, reply]) => reply.status)).toEqual(['granted', 'granted', 'granted', 'resource'])
  const holders = async (namespace: string) => {
    const { resource } = (await service.call({ type: 'get-resource', namespace, resource: 'r' })) as {
      resource: { grants: readonly { node: string }[] }
    }
    return resource.grants.map(({ node }) => node)
  }
  expect([await holders('one'), await holders('two'), await holders('three')]).toEqual([['a'], ['b'], ['c']])
  expect(await holders('default')).toEqual([])
})

test('a store that takes its steps elsewhere answers each when it can', async () => {
  const wrap = (store: Store) => overlaid(store, { step: async (...asked) => store.step(...asked) })
  const { send, replies } = world({ wrap }).open()
  await send({ from: 1, requests: [ask('h1'), ask('h2', { resource: 'other' })] })
  expect(replies().map(([number, { status }]) => [number, status])).toEqual([
    [1, 'granted'],
    [2, 'granted'],
  ])
})

test('what was released is forgotten once the client says that it knows, and not before', async () => {
  const { open, acknowledged } = world()
  const { send, replies } = open()
  await send({ from: 1, requests: [ask('h1'), release('h1', 1)] })
  await send({ acked: 1 })
  await send({ from: 3, requests: [ask('h1')] })
  expect(acknowledged).toEqual([])
  expect(replies().at(-1)).toMatchObject([3, { status: 'refused', code: 'hold-ended' }])
  await send({ acked: 2 })
  expect(acknowledged).toMatchObject([{ resource: 'r', operation: 'lock', node: 'a', owner: 'a', hold: 'h1' }])
  await send({ acked: 3 })
  expect(acknowledged).toHaveLength(1)
})

test('what has to be kept is kept: it is known when it comes again by another connection', async () => {
  const { open, acknowledged } = world()
  const { send } = open()
  await send({ from: 1, requests: [ask('h1'), release('h1', 1)], keep: [2] })
  await send({ acked: 2 })
  expect(acknowledged).toEqual([])
  const other = open()
  await other.send({ from: 1, requests: [ask('h1'), release('h1', 1)] })
  expect(other.replies()).toMatchObject([
    [1, { status: 'refused', code: 'hold-ended' }],
    [2, { status: 'released' }],
  ])
})

test('a refused release, and one that names no node, are not acknowledged', async () => {
  const { open, acknowledged } = world()
  const { send } = open()
  await send({ from: 1, requests: [release('h1', 1), ask('h2'), release('h2', 1, { node: undefined })] })
  await send({ acked: 3 })
  expect(acknowledged).toEqual([])
})

test('what was released on a connection that broke is remembered', async () => {
  const { open, acknowledged } = world()
  const { send, connection } = open()
  await send({ from: 1, requests: [ask('h1'), release('h1', 1)] })
  connection.close()
  await send({ acked: 2 })
  expect(acknowledged).toEqual([])
})
