import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { newWorld } from '../../test/e2e/server-world.ts'
import type { Token } from './tokens.ts'

const sha256 = (secret: string) => createHash('sha256').update(secret).digest('hex')
const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` })
const tokens: Token[] = [
  { sha256: sha256('of-a'), role: 'node', nodes: ['a'] },
  { sha256: sha256('of-b'), role: 'node', nodes: ['b'] },
  { sha256: sha256('eyes'), role: 'observe' },
  { sha256: sha256('root'), role: 'admin' },
  { sha256: sha256('team'), role: 'admin', namespace: 'team' },
  { sha256: sha256('team-eyes'), role: 'observe', namespace: 'team' },
]
const key = { operation: 'pull', resource: 'x' }
const policy = { version: 1, policy: { namespaces: {} } }

test('without a token, or with one that is not known, the answer is 401', async () => {
  const { get, post } = newWorld({ tokens })
  for (const headers of [{}, bearer('wrong'), { authorization: 'Basic of-a' }, { authorization: 'Bearer' }]) {
    const reply = await post('/v1/acquire', { ...key, node: 'a' }, headers as Record<string, string>)
    expect(reply).toMatchObject({ status: 401, body: { code: 'unauthorised' } })
    expect(reply.headers['www-authenticate']).toBe('Bearer')
    expect((await get('/v1/events', headers as Record<string, string>)).status).toBe(401)
    expect((await post('/lock', {}, headers as Record<string, string>)).status).toBe(401)
  }
  for (const path of ['/healthz', '/readyz', '/openapi.json']) expect((await get(path)).status).toBe(200)
})

test('without tokens configured everybody may ask', async () => {
  const { post } = newWorld({ tokens: [] })
  expect((await post('/v1/acquire', { ...key, node: 'a' })).status).toBe(200)
})

test('a node token acts for its nodes and nobody else', async () => {
  const { post, get, app } = newWorld({ tokens })
  const said = async (path: string, body: object, secret = 'of-b') => (await post(path, body, bearer(secret))).status
  expect(await said('/v1/acquire', { ...key, node: 'a' }, 'of-a')).toBe(200)
  expect(await said('/v1/acquire', { ...key, node: 'a' })).toBe(403)
  expect(await said('/v1/release', { ...key, owner: 'a', fence: 1, outcome: 'success' })).toBe(403)
  expect(await said('/v1/cancel', { ...key, owner: 'a' })).toBe(403)
  expect(await said('/v1/renew', { ...key, owner: 'a', fence: 1 })).toBe(403)
  expect(await said('/v1/progress', { ...key, owner: 'a', fence: 1, progress: 1 })).toBe(403)
  expect(await said('/v1/sessions/open', { session: 's', node: 'a' })).toBe(403)
  expect(await said('/v1/references/add', { resource: 'x', node: 'a' })).toBe(403)
  expect(await said('/v1/references/release', { resource: 'x', node: 'a' })).toBe(403)
  expect(await said('/v1/references/drop-node', { node: 'a' })).toBe(403)
  expect(await said('/v1/revoke', key)).toBe(403)
  expect(await said('/v1/revoke', key, 'of-a')).toBe(403)
  const put = await app.inject({ method: 'PUT', url: '/v1/policy', payload: policy, headers: bearer('of-a') })
  expect([put.statusCode, put.json().code]).toEqual([403, 'forbidden'])
  expect(await said('/v1/release', { ...key, owner: 'a', fence: 1, outcome: 'success' }, 'of-a')).toBe(200)
  expect(await said('/v1/references/drop-node', { node: 'b' })).toBe(200)
  expect(await said('/v1/sessions/open', { session: 's', node: 'b' })).toBe(200)
  expect((await get('/v1/resources', bearer('of-b'))).status).toBe(200)
})

test('a batch with one request that is not allowed does nothing', async () => {
  const { post, service } = newWorld({ tokens })
  const requests = ['a', 'b'].map((node) => ({ type: 'acquire', operation: 'pull', resource: node, node }))
  const reply = await post('/v1/batch', { requests }, bearer('of-a'))
  expect(reply).toMatchObject({
    status: 403,
    body: { code: 'forbidden', message: expect.stringMatching(/^requests\.1/) },
  })
  expect((await service.counts()).grants).toBe(0)
})

test('an observe token only reads', async () => {
  const { post, get, stream } = newWorld({ tokens })
  expect((await post('/v1/acquire', { ...key, node: 'a' }, bearer('eyes'))).status).toBe(403)
  expect((await post('/lock', { type: 'pull', resource_id: 'x', node_id: 'a' }, bearer('eyes'))).status).toBe(403)
  expect((await get('/lock/status?type=pull&resource_id=x&node_id=a', bearer('eyes'))).status).toBe(403)
  for (const path of ['/v1/resources', '/v1/resource?resource=x', '/v1/policy']) {
    expect((await get(path, bearer('eyes'))).status).toBe(200)
  }
  expect((await stream('/v1/events', bearer('eyes'))).status).toBe(200)
})

test('an admin token may do everything', async () => {
  const { post, app } = newWorld({ tokens })
  expect((await post('/v1/acquire', { ...key, node: 'z' }, bearer('root'))).status).toBe(200)
  expect((await post('/v1/revoke', key, bearer('root'))).status).toBe(200)
  const put = await app.inject({ method: 'PUT', url: '/v1/policy', payload: policy, headers: bearer('root') })
  expect(put.statusCode).toBe(200)
})

test('a token of one namespace sees and changes nothing of another', async () => {
  const { post, get, stream, app } = newWorld({ tokens })
  const ask = (namespace: string, secret: string) =>
    post('/v1/acquire', { ...key, namespace, node: 'a' }, bearer(secret))
  expect((await ask('team', 'team')).status).toBe(200)
  expect((await ask('default', 'team')).status).toBe(403)
  expect((await post('/v1/references/drop-node', { node: 'a' }, bearer('team'))).status).toBe(403)
  const put = await app.inject({ method: 'PUT', url: '/v1/policy', payload: policy, headers: bearer('team') })
  expect(put.statusCode).toBe(403)
  for (const path of ['/v1/resources', '/v1/resource?resource=x', '/v1/events', '/v1/events?resource=x']) {
    expect((await get(path, bearer('team-eyes'))).status).toBe(403)
  }
  expect((await get('/v1/resources?namespace=team', bearer('team-eyes'))).status).toBe(200)
  expect((await stream('/v1/events?namespace=team', bearer('team-eyes'))).status).toBe(200)
  expect((await post('/lock', { type: 'pull', resource_id: 'x', node_id: 'a' }, bearer('team'))).status).toBe(403)
})

test('the classic paths ask for the token of the node that they name', async () => {
  const { post, get, stream } = newWorld({ tokens })
  const body = { type: 'pull', resource_id: 'x', node_id: 'a' }
  expect((await post('/lock', body, bearer('of-a'))).body.acquired).toBe(true)
  const refused = await post('/lock', body, bearer('of-b'))
  expect([refused.status, refused.body.acquired]).toEqual([403, false])
  expect(refused.body.error).toBe(refused.body.message)
  expect(await post('/unlock', body, bearer('of-b'))).toMatchObject({ status: 403, body: { released: false } })
  expect((await get('/lock/subscribe?type=pull&resource_id=x&node_id=a', bearer('of-b'))).status).toBe(403)
  expect((await stream('/lock/subscribe?type=pull&resource_id=x', bearer('of-b'))).status).toBe(200)
})

test('a token that is not written as it should be keeps the server from starting', () => {
  for (const bad of [
    { sha256: 'secret', role: 'admin' },
    { sha256: sha256('x'), role: 'king' },
    { sha256: sha256('x'), role: 'node' },
    { sha256: sha256('x'), role: 'admin', nodes: ['a'] },
  ]) {
    expect(() => newWorld({ tokens: [bad as Token] })).toThrow()
  }
})
