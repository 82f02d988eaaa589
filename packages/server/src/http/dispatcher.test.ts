import { createHash } from 'node:crypto'
import { logTo } from '@baton-lock/service'
import { type Store, StoreUnavailable } from '@baton-lock/store/store'
import { overlaid } from '@baton-lock/test-support/server-connection'
import { newWorld, quiet } from '@baton-lock/test-support/server-world'
import { expect, test } from 'vitest'

const ask = (node: string, more: object = {}) => ({ type: 'pull', resource_id: 'x', node_id: node, ...more })

const withChange = (change: Partial<Store>) => (store: Store) => overlaid(store, change)

test('a lock is asked for, released and asked for again', async () => {
  const world = newWorld()
  expect(await world.post('/lock', ask('a'))).toMatchObject({ status: 200, body: { acquired: true } })
  expect(await world.post('/lock', ask('b'))).toMatchObject({ status: 200, body: { acquired: false } })
  expect(await world.post('/unlock', ask('a', { error: null }))).toMatchObject({ body: { released: true } })
  expect(await world.post('/lock', ask('c'))).toMatchObject({ status: 200, body: { skip: true } })
})

test.each(['défaut', '坏了', 'bad \u{1f4a5}'])('an answer with %s in it is whole', async (error) => {
  const world = newWorld()
  await world.post('/lock', ask('a'))
  const release = { operation: 'pull', resource: 'x', owner: 'a', fence: 1, outcome: 'failure', permanent: true }
  await world.post('/lock', ask('b'))
  await world.post('/v1/release', { ...release, error })
  const { status, body } = await world.post('/lock', ask('b'))
  expect([status, body]).toEqual([403, { acquired: false, skip: false, error, message: error }])
})

test.each([
  '{"__proto__":5}',
  '{"type":"pull","__proto__":null}',
  '{"a":{"constructor":{"prototype":{}}}}',
  '{"type":',
])('what could do harm is refused: %s', async (body) => {
  const said = (await newWorld().post('/lock', body)).body
  expect(said).toMatchObject({ acquired: false, error: expect.stringContaining('__proto__') })
})

test('the head says who it is of and what is missing', async () => {
  const world = newWorld({ tokens: [{ sha256: createHash('sha256').update('root').digest('hex'), role: 'admin' }] })
  const unknown = await world.post('/v1/acquire', {})
  expect([unknown.status, unknown.headers['www-authenticate']]).toEqual([401, 'Bearer'])
  expect(unknown.headers['baton-store']).toBe('memory')
  const known = await world.post('/lock', ask('a'), { authorization: 'Bearer root' })
  expect([known.status, known.headers['www-authenticate'], known.headers['baton-store']]).toEqual([
    200,
    undefined,
    undefined,
  ])
})

test('a lock is told when it is durable, and not before', async () => {
  let synced: () => void = () => {}
  const durable = () =>
    new Promise<void>((resolve) => {
      synced = resolve
    })
  const world = newWorld({ wrap: withChange({ durable }) })
  let isTold = false
  const told = world.post('/lock', ask('a')).finally(() => {
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
  const world = newWorld({ wrap: withChange(change), log: logTo((_, message) => lines.push(message)) })
  for (let again = 0; again < 2; again++) {
    const { status, body } = await world.post('/lock', ask('a'))
    expect([status, body.acquired]).toEqual([503, false])
  }
  expect(lines).toEqual(['the store does not answer'])
})

function fail(): never {
  throw new StoreUnavailable('the disk is full')
}
