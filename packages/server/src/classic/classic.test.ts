import { completePolicy } from '@baton-lock/core'
import { logTo } from '@baton-lock/service'
import { newWorld, quiet } from '@baton-lock/test-support/server-world'
import { expect, test } from 'vitest'

const body = (node: string, more: object = {}) => ({ type: 'pull', resource_id: 'x', node_id: node, ...more })

test('the first to ask acquires, the next is queued, and asking again changes neither', async () => {
  const { post, service } = newWorld()
  const acquired = { status: 200, body: { acquired: true, skip: false, message: expect.any(String) } }
  const queued = { status: 200, body: { acquired: false, skip: false, message: expect.any(String) } }
  expect(await post('/lock', body('a'))).toMatchObject(acquired)
  for (let again = 0; again < 3; again++) {
    expect(await post('/lock', body('a'))).toMatchObject(acquired)
    const reply = await post('/lock', body('b'))
    expect(reply).toMatchObject(queued)
    expect(reply.body).not.toHaveProperty('error')
  }
  expect(await service.counts()).toMatchObject({ grants: 1, waiters: 1 })
})

test('unknown fields are ignored, and no Content-Type is needed', async () => {
  const { post } = newWorld()
  expect((await post('/lock', body('a', { colour: 'red' }))).body.acquired).toBe(true)
})

test('done already: skip, without an error field', async () => {
  const { post } = newWorld()
  await post('/lock', body('a'))
  await post('/unlock', body('a'))
  const { status, body: said } = await post('/lock', body('b'))
  expect([status, said]).toEqual([200, { acquired: false, skip: true, message: expect.any(String) }])
})

test('a refusal is a 403 whose error and message are the same', async () => {
  const { post } = newWorld()
  await post('/lock', body('a'))
  await post('/unlock', body('a'))
  const { status, body: said } = await post('/lock', body('b', { type: 'delete' }))
  expect(status).toBe(403)
  expect(said).toEqual({
    acquired: false,
    skip: false,
    error: said.message,
    message: expect.stringContaining('reference'),
  })
})

test('a delete of what others use is refused, and drops the own reference all the same', async () => {
  const { post, get } = newWorld()
  for (const node of ['a', 'b']) await post('/lock', body(node))
  await post('/unlock', body('a'))
  const reply = await post('/lock', body('a', { type: 'delete' }))
  expect([reply.status, reply.body.acquired]).toEqual([403, false])
  expect((await get('/v1/resource?resource=x')).body.resource.references).toEqual(['b'])
  expect((await post('/lock', body('b', { type: 'delete' }))).body.acquired).toBe(true)
})

test('with queueing off a busy key is a 403', async () => {
  const { post, send } = newWorld()
  const policy = { namespaces: { default: { queueing: false } } }
  await send({ method: 'PUT', path: '/v1/policy', body: { version: 1, policy } })
  await post('/lock', body('a'))
  const { status, body: said } = await post('/lock', body('b'))
  expect([status, said.error]).toEqual([403, said.message])
})

test('what is not JSON or lacks a field is a 400 in the shape of its path', async () => {
  const { post, get } = newWorld()
  const bad = ['', '{', '[]', '{}', body(''), body('a\nb'), body('a', { type: 7 }), body('a', { resource_id: null })]
  for (const input of bad) {
    const lock = await post('/lock', input)
    expect([lock.status, lock.body]).toEqual([
      400,
      { acquired: false, skip: false, error: lock.body.message, message: expect.any(String) },
    ])
    const unlock = await post('/unlock', input)
    expect([unlock.status, unlock.body]).toEqual([400, { released: false, message: expect.any(String) }])
    expect((await post('/lock/status', input)).status).toBe(400)
  }
  expect((await post('/unlock', body('a', { error: 7 }))).status).toBe(400)
  expect((await get('/lock/subscribe?type=pull')).status).toBe(400)
  expect((await get('/lock/subscribe?resource_id=x')).status).toBe(400)
  expect((await get('/lock/subscribe?type=pull&resource_id=x&node_id=%0A')).status).toBe(400)
})

test('only the holder unlocks, and an unlock whose reply was lost can be repeated', async () => {
  const { post } = newWorld()
  expect(await post('/unlock', body('a'))).toMatchObject({ status: 403, body: { released: false } })
  await post('/lock', body('a'))
  expect(await post('/unlock', body('b'))).toMatchObject({ status: 403, body: { released: false } })
  for (let again = 0; again < 2; again++) {
    expect(await post('/unlock', body('a'))).toMatchObject({ status: 200, body: { released: true } })
  }
})

test.each([
  ['an error', { error: 'disk full' }],
  ['an explicit success: false', { success: false }],
])('%s is a failure', async (_, more) => {
  const { post, get } = newWorld()
  await post('/lock', body('a'))
  await post('/unlock', body('a', more))
  const { body: said } = await get('/v1/resource?resource=x')
  expect(said.resource.recent[0].outcome.outcome).toBe('failure')
})

test('a key is its three parts, not their concatenation', async () => {
  const { post, send } = newWorld()
  const operations = { 'pull:a': {}, pull: {} }
  await send({
    method: 'PUT',
    path: '/v1/policy',
    body: { version: 1, policy: { namespaces: { default: { operations } } } },
  })
  expect((await post('/lock', { type: 'pull', resource_id: 'a:b', node_id: '1' })).body.acquired).toBe(true)
  expect((await post('/lock', { type: 'pull:a', resource_id: 'b', node_id: '2' })).body.acquired).toBe(true)
})

test('the lease is an hour from the last ask of the holder', async () => {
  const { post, clock } = newWorld()
  await post('/lock', body('a'))
  await clock.advance(59 * 60_000)
  expect((await post('/lock', body('a'))).body.acquired).toBe(true)
  await clock.advance(59 * 60_000)
  expect((await post('/lock', body('b'))).body.acquired).toBe(false)
  await clock.advance(2 * 60_000)
  expect((await post('/lock', body('b'))).body.acquired).toBe(true)
})

test('status tells a node that polls where it stands', async () => {
  const { post, get, clock } = newWorld()
  const status = async (node: string) =>
    (await get(`/lock/status?type=update&resource_id=x&node_id=${node}`)).body as object
  const none = { acquired: false, completed: false, success: false, error: '' }
  const update = (node: string, more: object = {}) => body(node, { type: 'update', ...more })
  expect(await status('a')).toEqual(none)
  for (const node of ['a', 'b', 'c']) await post('/lock', update(node))
  expect(await status('a')).toEqual({ ...none, acquired: true })
  expect(await status('b')).toEqual(none)
  expect(await status('stranger')).toEqual(none)
  await post('/unlock', update('a', { error: 'no' }))
  // It was handed over: the poll claims it, so that it does not pass on.
  expect(await status('b')).toEqual({ ...none, acquired: true })
  await clock.advance(6_000)
  expect((await post('/lock/status', update('b'))).body).toEqual({ ...none, acquired: true })
  await post('/unlock', update('b'))
  for (const node of ['b', 'c', 'stranger']) {
    expect(await status(node)).toEqual({ ...none, completed: true, success: true })
  }
})

test('status tells how a failure ended, while that is known', async () => {
  const { post } = newWorld()
  await post('/lock', body('a'))
  await post('/unlock', body('a', { error: 'disk full' }))
  const failed = { acquired: false, completed: true, success: false, error: 'disk full' }
  expect((await post('/lock/status', body('b'))).body).toEqual(failed)
})

test('polling keeps a place in line', async () => {
  const { post, clock, get } = newWorld()
  for (const node of ['a', 'b', 'c']) await post('/lock', body(node))
  for (let minute = 0; minute < 3; minute++) {
    await clock.advance(50_000)
    await post('/lock/status', body('b'))
  }
  const { body: said } = await get('/v1/resource?resource=x')
  expect(said.resource.waiters.map(({ node }: { node: string }) => node)).toEqual(['b'])
})

test('GET /lock/status takes its fields in a body too', async () => {
  const { send, post } = newWorld()
  await post('/lock', body('a'))
  const reply = await send({ method: 'GET', path: '/lock/status', body: body('a') })
  expect(reply.body.acquired).toBe(true)
})

test('ids with newlines never reach the log', async () => {
  const lines: string[] = []
  const { post } = newWorld({ log: logTo((...entry) => lines.push(JSON.stringify(entry))) })
  await post('/lock', body('a\nlevel=error forged'))
  await quiet()
  expect(lines).toEqual([])
})

test('a node whose copy is gone has the work done again with force', async () => {
  const { post, service } = newWorld()
  await post('/lock', body('a'))
  await post('/unlock', body('a'))
  expect((await post('/lock', body('b'))).body).toMatchObject({ acquired: false, skip: true })
  for (const force of [false, null]) expect((await post('/lock', body('b', { force }))).body.skip).toBe(true)
  expect((await post('/lock', body('b', { force: true }))).body).toMatchObject({ acquired: true, skip: false })
  // One that waits believes a success that comes meanwhile, and asks again with the same words.
  expect((await post('/lock', body('c', { force: true }))).body).toMatchObject({ acquired: false, skip: false })
  await post('/unlock', body('b'))
  expect((await post('/lock', body('c', { force: true }))).body).toMatchObject({ acquired: false, skip: true })
  expect((await service.look({ namespace: 'default', resource: 'x' }))?.fence).toBe(2)
})

test('force does not override the references of a delete', async () => {
  const { post } = newWorld()
  await post('/lock', body('a'))
  await post('/unlock', body('a'))
  const reply = await post('/lock', body('b', { type: 'delete', force: true }))
  expect([reply.status, reply.body.acquired]).toEqual([403, false])
})

test('an unlock with the effect none tells those who waited, and changes nothing else', async () => {
  const { post, get } = newWorld()
  const update = (node: string, more: object = {}) => body(node, { type: 'update', ...more })
  await post('/lock', body('a'))
  await post('/unlock', body('a', { effect: 'none' }))
  expect((await get('/v1/resource?resource=x')).body.resource).toMatchObject({ references: [], kept: [] })
  for (const node of ['a', 'b']) await post('/lock', update(node))
  await post('/unlock', update('a', { effect: 'none' }))
  expect((await post('/lock', update('b'))).body.skip).toBe(true)
})

test.each([
  ['/lock', { force: 'yes' }, 'force'],
  ['/unlock', { effect: 'all' }, 'effect'],
])('%s with %o is a 400 that names the field', async (path, more, field) => {
  const { post } = newWorld()
  const { status, body: said } = await post(path, body('a', more))
  expect([status, said.message]).toEqual([400, expect.stringContaining(field)])
})

test('force and effect are in the description of the interface', async () => {
  const { paths } = (await newWorld().get('/openapi.json')).body
  const fields = (path: string) => paths[path].post.requestBody.content['application/json'].schema.properties
  expect(Object.keys(fields('/lock'))).toContain('force')
  expect(Object.keys(fields('/unlock'))).toContain('effect')
})

test('three types of one resource are three locks side by side', async () => {
  const { post, service } = newWorld()
  const types = ['pull', 'update', 'image-layer']
  for (const type of types) expect((await post('/lock', body(`${type}-1`, { type }))).body.acquired).toBe(true)
  for (const type of types) {
    expect((await post('/lock', body(`${type}-2`, { type }))).body).toMatchObject({ acquired: false, skip: false })
  }
  await post('/unlock', body('update-1', { type: 'update' }))
  expect((await post('/lock', body('update-2', { type: 'update' }))).body.skip).toBe(true)
  expect(await service.counts()).toMatchObject({ grants: 2, waiters: 2 })
})

test('a delete of what is referenced queues while another delete is held, and is refused when that fails', async () => {
  const { post } = newWorld()
  const remove = (node: string, more: object = {}) => body(node, { type: 'delete', ...more })
  expect((await post('/lock', remove('a'))).body.acquired).toBe(true)
  await post('/lock', body('c'))
  await post('/unlock', body('c'))
  expect(await post('/lock', remove('b'))).toMatchObject({ status: 200, body: { acquired: false, skip: false } })
  await post('/unlock', remove('a', { error: 'no' }))
  expect(await post('/lock', remove('b'))).toMatchObject({ status: 403, body: { acquired: false } })
})

test('a server that requires no references for an update refuses it while there are some, and says until when', async () => {
  const policy = completePolicy({ namespaces: { default: { updateRequiresNoRef: true } } })
  const { post, send } = newWorld({ policy })
  const update = (node: string) => post('/lock', body(node, { type: 'update' }))
  expect((await update('a')).body.acquired).toBe(true)
  await post('/unlock', body('a', { type: 'update' }))
  await post('/lock', body('b'))
  await post('/unlock', body('b'))
  const { status, body: said } = await update('a')
  expect([status, said.acquired]).toEqual([403, false])
  expect(said.error).toMatch(/update is refused while .* dropped their references/)
  expect(said.error).not.toMatch(/delete/i)
  const v1 = await post('/v1/acquire', { operation: 'update', resource: 'x', node: 'a' })
  expect(v1).toMatchObject({ status: 409, body: { code: 'in-use', message: said.error } })
  await send({ method: 'POST', path: '/v1/references/release', body: { resource: 'x', node: 'b' } })
  expect((await update('a')).body.acquired).toBe(true)
})
