import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { logTo } from '../service/index.ts'
import { type Store, StoreUnavailable } from '../stores/store.ts'
import { overlaid } from '../testing/unit/server-connection.ts'
import { newWorld, quiet, type World } from '../testing/unit/server-world.ts'

const ask = (node: string, more: object = {}) => ({ type: 'pull', resource_id: 'x', node_id: node, ...more })

/** Over a socket: what is injected goes past these routes, to Fastify. */
async function posted({ url }: World, path: string, body: unknown, headers: Record<string, string> = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const reply = await fetch(`${await url()}${path}`, { method: 'POST', body: text, headers })
  return { status: reply.status, body: (await reply.json()) as { acquired?: boolean }, headers: reply.headers }
}

const withDirect = (change: Partial<NonNullable<Store['direct']>>) => (store: Store) =>
  overlaid(store, { direct: { ...store.direct!, ...change } })

test('a lock that is asked for over a socket is answered as one that goes by Fastify', async () => {
  const world = newWorld()
  expect(await posted(world, '/lock', ask('a'))).toMatchObject({ status: 200, body: { acquired: true } })
  expect(await posted(world, '/lock', ask('b'))).toMatchObject({ status: 200, body: { acquired: false } })
  expect(await posted(world, '/unlock', ask('a', { error: null }))).toMatchObject({ body: { released: true } })
  expect(await posted(world, '/lock', ask('c'))).toMatchObject({ status: 200, body: { skip: true } })
})

test.each(['défaut', '坏了', 'bad \u{1f4a5}'])('an answer with %s in it is whole', async (error) => {
  const world = newWorld()
  await posted(world, '/lock', ask('a'))
  const release = { operation: 'pull', resource: 'x', owner: 'a', fence: 1, outcome: 'failure', permanent: true }
  await posted(world, '/lock', ask('b'))
  await posted(world, '/v1/release', { ...release, error })
  const { status, body } = await posted(world, '/lock', ask('b'))
  expect([status, body]).toEqual([403, { acquired: false, skip: false, error, message: error }])
})

test.each([
  '{"__proto__":5}',
  '{"type":"pull","__proto__":null}',
  '{"a":{"constructor":{"prototype":{}}}}',
  '{"type":',
])('what could do harm is refused: %s', async (body) => {
  const said = (await posted(newWorld(), '/lock', body)).body
  expect(said).toMatchObject({ acquired: false, error: expect.stringContaining('__proto__') })
})

test('the head says who it is of and what is missing', async () => {
  const world = newWorld({ tokens: [{ sha256: createHash('sha256').update('root').digest('hex'), role: 'admin' }] })
  const unknown = await posted(world, '/v1/acquire', {})
  expect([unknown.status, unknown.headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
  expect(unknown.headers.get('baton-store')).toBe('memory')
  const known = await posted(world, '/lock', ask('a'), { authorization: 'Bearer root' })
  expect([known.status, known.headers.get('www-authenticate'), known.headers.get('baton-store')]).toEqual([
    200,
    null,
    null,
  ])
})

test('a lock is told when it is durable, and not before', async () => {
  let synced: () => void = () => {}
  const durable = () =>
    new Promise<void>((resolve) => {
      synced = resolve
    })
  const world = newWorld({ wrap: withDirect({ durable }) })
  let isTold = false
  const told = posted(world, '/lock', ask('a')).finally(() => {
    isTold = true
  })
  while ((await world.service.counts()).grants === 0) await quiet()
  await quiet()
  expect(isTold).toBe(false)
  synced()
  expect(await told).toMatchObject({ status: 200, body: { acquired: true } })
})

test.each([
  ['when it is asked', { step: () => fail() }],
  ['when it syncs', { durable: () => Promise.reject(new StoreUnavailable('the disk is full')) }],
])('a store that goes away %s is a 503, told to the log once', async (_, change) => {
  const lines: string[] = []
  const world = newWorld({ wrap: withDirect(change), log: logTo((_, message) => lines.push(message)) })
  for (let again = 0; again < 2; again++) {
    const { status, body } = await posted(world, '/lock', ask('a'))
    expect([status, body.acquired]).toEqual([503, false])
  }
  expect(lines).toEqual(['the store does not answer'])
})

function fail(): never {
  throw new StoreUnavailable('the disk is full')
}
