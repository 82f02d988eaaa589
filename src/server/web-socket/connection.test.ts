import { expect, onTestFinished, test } from 'vitest'
import { errorBody, type ServerFrame } from '../../protocol/index.ts'
import { requestSchemas } from '../../protocol/schemas.ts'
import { Service } from '../../service/index.ts'
import { openMemoryStore } from '../../stores/memory/index.ts'
import type { AskAt, Store } from '../../stores/store.ts'
import { SimulatedClock } from '../../testing/index.ts'
import { settled } from '../../testing/simulated-clock.ts'
import { Connection, type Wire } from './connection.ts'

const UNREAD_BYTES = 4_000

function world({ wrap = (store: Store): Store => store } = {}) {
  const clock = new SimulatedClock()
  const acknowledged: AskAt[] = []
  const memory = openMemoryStore({ clock })
  const direct = memory.direct && {
    ...memory.direct,
    acknowledge(ask: AskAt) {
      acknowledged.push(ask)
      memory.direct!.acknowledge(ask)
    },
  }
  const store = wrap(overlaid(memory, { direct }))
  const service = new Service({ store, timers: clock })
  onTestFinished(() => service.close())
  const open = () => {
    const frames: ServerFrame[] = []
    const ends: string[] = []
    const reading: string[] = []
    const wire: { -readonly [Name in keyof Wire]: Wire[Name] } = {
      send: (text) => frames.push(JSON.parse(text)),
      unsent: 0,
      pause: () => reading.push('pause'),
      resume: () => reading.push('resume'),
      end: (how, why) => ends.push(`${how}: ${why}`),
    }
    const connection = new Connection({
      service,
      wire,
      check: (input) => {
        const type = (input as { type: keyof typeof requestSchemas }).type
        const result = requestSchemas[type]?.safeParse(input)
        return result?.success ? { request: result.data, facts: {} } : errorBody('bad-request')
      },
      checkListen: ({ scope }) => {
        if (scope.of === 'session' && scope.session === 'forbidden') throw new Error('not you')
        return {}
      },
      failure: (error) => errorBody('unknown-outcome', String(error)),
      unreadBytes: UNREAD_BYTES,
    })
    const send = async (frame: object) => {
      connection.receive(JSON.stringify(frame))
      await settled()
    }
    const replies = () => frames.flatMap(({ replies }) => replies ?? [])
    const events = () => frames.flatMap(({ events }) => events ?? [])
    return { connection, wire, frames, ends, reading, send, replies, events }
  }
  return { clock, service, store, acknowledged, open }
}

/** A store whose fields are partly others: its methods stay its own. */
function overlaid(store: Store, fields: Partial<Store>): Store {
  return new Proxy(store, {
    get(target, name) {
      if (name in fields) return fields[name as keyof Store]
      const value = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

const at = { operation: 'lock', resource: 'r', node: 'a', owner: 'a' }
const ask = (hold: string, more = {}) => ({ type: 'acquire', ...at, hold, ttlMs: 10_000, ...more })
const release = (hold: string, fence: number, more = {}) => ({
  type: 'release',
  ...at,
  hold,
  fence,
  outcome: 'success',
  ...more,
})

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
      direct: {
        ...store.direct!,
        durable: () => {
          syncs++
          return new Promise<void>((resolve) => {
            synced = resolve
          })
        },
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
  const wrap = (store: Store) =>
    overlaid(store, { direct: { ...store.direct!, durable: () => Promise.reject(new Error('full')) } })
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
  const wrap = (store: Store) => overlaid(store, { direct: undefined })
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
  expect(events().slice(2)).toMatchObject([[7, expect.any(String), { type: 'ended', outcome: 'revoked', fence: 2 }]])
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
      direct: { ...store.direct!, durable: () => new Promise<void>((resolve) => synced.push(resolve)) },
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
