import { createHash } from 'node:crypto'
import { Socket } from 'node:net'
import type { Token } from '@baton-lock/protocol'
import type { Store } from '@baton-lock/store/store'
import { overlaid } from '@baton-lock/test-support/server-connection'
import { newWorld } from '@baton-lock/test-support/server-world'
import { expect, test } from 'vitest'
import type { Access } from './roles.ts'
import { TokenGuard } from './token-guard.ts'
import { Tokens } from './tokens.ts'

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

test('a missing token and a wrong one are told apart, and no token is repeated', async () => {
  const { post } = newWorld({ tokens })
  const message = async (headers: Record<string, string>) => (await post('/v1/acquire', {}, headers)).body.message
  const missing = 'A token is needed; send it as `Authorization: Bearer …`.'
  for (const headers of [{}, { authorization: 'Basic wrong' }, { authorization: 'Bearer' }] as Record<string, string>[])
    expect(await message(headers)).toBe(missing)
  expect(await message(bearer('wrong-secret'))).toBe(
    'The server does not know this token; send one of those that it was given.',
  )
})

test('without tokens configured everybody may ask', async () => {
  const { post } = newWorld()
  expect((await post('/v1/acquire', { ...key, node: 'a' })).status).toBe(200)
})

test('a node token acts for its nodes and nobody else', async () => {
  const { post, get, send } = newWorld({ tokens })
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
  const put = await send({ method: 'PUT', path: '/v1/policy', body: policy, headers: bearer('of-a') })
  expect([put.status, put.body.code]).toEqual([403, 'forbidden'])
  expect(await said('/v1/release', { ...key, owner: 'a', fence: 1, outcome: 'success' }, 'of-a')).toBe(200)
  expect(await said('/v1/references/drop-node', { node: 'b' })).toBe(200)
  expect(await said('/v1/sessions/open', { session: 's', node: 'b' })).toBe(200)
  expect((await get('/v1/resources', bearer('of-b'))).status).toBe(200)
  // What is kept is nobody's: every node may have it done again.
  expect(await said('/v1/forget', { operation: 'pull', resource: 'x' })).toBe(200)
})

test('a token acts for every node whose name begins as its pattern does', async () => {
  const patterns: Token[] = [
    { sha256: sha256('apis'), role: 'node', nodes: ['db-1', 'api-*'] },
    { sha256: sha256('all'), role: 'node', nodes: ['*'] },
  ]
  const { post, stream } = newWorld({ tokens: patterns })
  const lock = (node: string, secret: string) =>
    post('/v1/acquire', { operation: 'lock', resource: node, node }, bearer(secret))
  for (const node of ['db-1', 'api-', 'api-7f9c-x2', 'api-*']) expect((await lock(node, 'apis')).status).toBe(200)
  for (const node of ['db-10', 'api', 'xapi-1', 'API-1']) {
    const { status, body } = await lock(node, 'apis')
    expect([status, body.code]).toEqual([403, 'forbidden'])
    expect(body.message).toBe(`The token does not act for "${node}", but for "db-1", "api-*".`)
  }
  for (const node of ['db-10', 'anything']) expect((await lock(node, 'all')).status).toBe(200)
  // It is a node's token all the same.
  expect((await post('/v1/revoke', { operation: 'lock', resource: 'db-10' }, bearer('all'))).status).toBe(403)
  // Where no node is named, the actors of its nodes are meant.
  const release = { operation: 'lock', resource: 'api-7f9c-x2', owner: 'api-7f9c-x2', fence: 1, outcome: 'success' }
  expect((await post('/v1/release', { ...release, resource: 'db-10', owner: 'db-10' }, bearer('apis'))).status).toBe(
    403,
  )
  expect((await post('/v1/release', release, bearer('apis'))).status).toBe(200)
  const classic = { type: 'pull', resource_id: 'x', node_id: 'web-1' }
  for (const path of ['/lock', '/unlock', '/lock/status']) {
    const { status, body } = await post(path, classic, bearer('apis'))
    expect([status, body.error ?? body.message]).toEqual([
      403,
      expect.stringMatching(/"web-1", but for "db-1", "api-\*"/),
    ])
  }
  expect((await stream('/lock/subscribe?type=pull&resource_id=x&node_id=web-1', bearer('apis'))).status).toBe(403)
  expect((await post('/lock', { ...classic, node_id: 'api-1' }, bearer('apis'))).body.acquired).toBe(true)
})

test('the refusal of a token with many nodes names ten of them', async () => {
  const nodes = Array.from({ length: 12 }, (_, index) => `n${index}`)
  const { post } = newWorld({ tokens: [{ sha256: sha256('many'), role: 'node', nodes }] })
  const { body } = await post('/v1/acquire', { ...key, node: 'x' }, bearer('many'))
  expect(body.message).toMatch(/"x", but for "n0", .*"n9" and 2 more\.$/)
})

test('an owner is no secret: the same one of another node is somebody else', async () => {
  const { post } = newWorld({ tokens })
  const lock = { operation: 'lock', resource: 'x' }
  const say = async (path: string, body: object, secret: string) => (await post(path, body, bearer(secret))).body
  expect(await say('/v1/acquire', { ...lock, node: 'a', owner: 'a1', hold: 'h1' }, 'of-a')).toMatchObject({ fence: 1 })
  const asB = { ...lock, node: 'b', owner: 'a1', hold: 'h2' }
  expect(await say('/v1/acquire', asB, 'of-b')).toMatchObject({ status: 'queued', position: 1 })
  // Nor does a session of its own take the place of another with it.
  await say('/v1/sessions/open', { session: 's', node: 'b' }, 'of-b')
  await say('/v1/acquire', { ...asB, owner: 'a2', session: 's' }, 'of-b')
  await say('/v1/acquire', { ...lock, node: 'a', owner: 'a2' }, 'of-a')
  await say('/v1/sessions/close', { session: 's' }, 'of-b')
  const release = { ...lock, owner: 'a1', hold: 'h1', fence: 1, outcome: 'success' }
  expect(await say('/v1/release', { ...release, node: 'a' }, 'of-b')).toMatchObject({ code: 'forbidden' })
  expect(await say('/v1/release', release, 'of-a')).toMatchObject({ status: 'released' })
  expect(await say('/v1/acquire', asB, 'of-b')).toMatchObject({ status: 'granted', fence: 2 })
})

test('a short lease under the owner of a classic node does not end that of the node', async () => {
  const { post, get, clock } = newWorld({ tokens })
  await post('/lock', { type: 'lock', resource_id: 'x', node_id: 'a' }, bearer('of-a'))
  const asked = { operation: 'lock', resource: 'x', node: 'b', owner: 'a', ttlMs: 1_000 }
  expect((await post('/v1/acquire', asked, bearer('of-b'))).body).toMatchObject({ status: 'queued' })
  await clock.advance(70_000)
  const { body } = await get('/v1/resource?resource=x', bearer('of-a'))
  expect(body.resource).toMatchObject({ grants: [{ node: 'a', fence: 1 }], waiting: 0 })
})

test('a place beyond the thousandth is nobody else\u2019s either, nor is what has not been asked yet', async () => {
  const { post, service } = newWorld({ tokens })
  const place = (node: string, owner: string) => ({
    namespace: 'default',
    operation: 'lock',
    resource: 'x',
    node,
    owner,
  })
  const ask = { type: 'acquire', hold: 'h', ttlMs: 30_000 } as const
  for (let index = 0; index <= 1_001; index++) await service.call({ ...ask, ...place('a', `o${index}`) })
  const last = { operation: 'lock', resource: 'x', owner: 'o1001', hold: 'h' }
  expect((await post('/v1/cancel', last, bearer('of-b'))).body).toMatchObject({ code: 'forbidden' })
  const { hold: _, ...renew } = last
  expect((await post('/v1/renew', renew, bearer('of-b'))).body).toMatchObject({ code: 'forbidden' })
  const early = { ...last, owner: 'early' }
  expect((await post('/v1/cancel', early, bearer('of-b'))).body).toMatchObject({ was: 'nothing' })
  expect((await post('/v1/acquire', { ...early, node: 'a' }, bearer('of-a'))).body).toMatchObject({ status: 'queued' })
})

test('what a batch may do is decided when it does it', async () => {
  let inBetween = async () => {}
  const policyOf = async (store: Store) => {
    await inBetween()
    return store.policy()
  }
  const { post, service } = newWorld({ tokens, wrap: (store) => overlaid(store, { policy: () => policyOf(store) }) })
  const lock = { operation: 'lock', resource: 'x' }
  const release = { type: 'release', ...lock, owner: 'a1', fence: 1, outcome: 'success' }
  // Between the check of the batch and its second request, A takes what B is about to release.
  const ask = {
    type: 'acquire',
    namespace: 'default',
    ...lock,
    node: 'a',
    owner: 'a1',
    hold: '-',
    ttlMs: 30_000,
  } as const
  inBetween = async () => void (await service.call(ask))
  const requests = [{ type: 'get-policy' }, release]
  const { body } = await post('/v1/batch', { requests }, bearer('of-b'))
  expect(body.replies).toMatchObject([{ status: 'policy' }, { code: 'forbidden' }])
  expect((await service.counts()).grants).toBe(1)
})

test('one that only reads keeps nobody in line', async () => {
  const { post, stream, clock, store } = newWorld({ tokens })
  const lock = { operation: 'lock', resource: 'x' }
  await post('/v1/acquire', { ...lock, node: 'a', ttlMs: 600_000 }, bearer('of-a'))
  await post('/v1/acquire', { ...lock, node: 'b' }, bearer('of-b'))
  await post('/lock', { type: 'lock', resource_id: 'x', node_id: 'b' }, bearer('of-b'))
  await stream('/v1/events?resource=x&operation=lock&owner=b', bearer('eyes'))
  await stream('/v1/events?resource=x&operation=lock&owner=b&node=b', bearer('of-a'))
  await stream('/lock/subscribe?type=lock&resource_id=x', bearer('eyes'))
  await clock.advance(61_000)
  expect(await store.read({ namespace: 'default', resource: 'x' })).toMatchObject({ waiting: 0 })
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
  // Also what names no node, and so would be nobody's to refuse.
  const writes = [
    ['/v1/sessions/renew', { session: 's' }],
    ['/v1/sessions/close', { session: 's' }],
    ['/v1/sessions/leave', { session: 's', ...key, owner: 'a' }],
    ['/v1/cancel', { ...key, owner: 'a' }],
    ['/v1/release', { ...key, owner: 'a', fence: 1, outcome: 'success' }],
  ] as const
  for (const [path, body] of writes) {
    const { status, body: reply } = await post(path, body, bearer('eyes'))
    expect([status, reply.code, reply.message]).toEqual([403, 'forbidden', 'An observe token only reads.'])
  }
  for (const path of ['/v1/resources', '/v1/resource?resource=x', '/v1/policy']) {
    expect((await get(path, bearer('eyes'))).status).toBe(200)
  }
  expect((await stream('/v1/events', bearer('eyes'))).status).toBe(200)
})

test('an admin token may do everything', async () => {
  const { post, send } = newWorld({ tokens })
  expect((await post('/v1/acquire', { ...key, node: 'z' }, bearer('root'))).status).toBe(200)
  expect((await post('/v1/revoke', key, bearer('root'))).status).toBe(200)
  const put = await send({ method: 'PUT', path: '/v1/policy', body: policy, headers: bearer('root') })
  expect(put.status).toBe(200)
})

test('a token of one namespace sees and changes nothing of another', async () => {
  const { post, get, stream, send } = newWorld({ tokens })
  const ask = (namespace: string, secret: string) =>
    post('/v1/acquire', { ...key, namespace, node: 'a' }, bearer(secret))
  expect((await ask('team', 'team')).status).toBe(200)
  expect((await ask('default', 'team')).status).toBe(403)
  expect((await post('/v1/references/drop-node', { node: 'a' }, bearer('team'))).status).toBe(403)
  const put = await send({ method: 'PUT', path: '/v1/policy', body: policy, headers: bearer('team') })
  expect(put.status).toBe(403)
  for (const path of ['/v1/resources', '/v1/resource?resource=x', '/v1/events', '/v1/events?resource=x']) {
    expect((await get(path, bearer('team-eyes'))).status).toBe(403)
  }
  expect((await get('/v1/resources?namespace=team', bearer('team-eyes'))).status).toBe(200)
  expect((await stream('/v1/events?namespace=team', bearer('team-eyes'))).status).toBe(200)
  expect((await post('/lock', { type: 'pull', resource_id: 'x', node_id: 'a' }, bearer('team'))).status).toBe(403)
})

test('what tells of all namespaces is not told to a token of one', () => {
  const known = new Tokens(tokens)
  const guard = new TokenGuard(known, () => 0)
  const enter = (secret: string, access: Access) => () =>
    guard.enter({ token: known.find(secret)!, onlyLooks: false, socket: new Socket() }, access)
  const ofAll = { roles: ['observe', 'admin'], isOfAll: true } as const
  for (const secret of ['eyes', 'root']) expect(enter(secret, ofAll)).not.toThrow()
  for (const secret of ['team', 'team-eyes']) {
    expect(enter(secret, ofAll)).toThrow('This tells of all namespaces, and the token is for one.')
    expect(enter(secret, { roles: ofAll.roles })).not.toThrow()
  }
  expect(enter('of-a', ofAll)).toThrow('This takes an observe or admin token.')
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
  for (const [bad, sentence] of [
    [{ sha256: 'secret', role: 'admin' }, /^tokens\.0\.sha256: must be 64 hex digits/],
    [{ sha256: sha256('x'), role: 'king' }, /^tokens\.0\.role: /],
    [
      { sha256: sha256('x'), role: 'node' },
      /^tokens\.0\.nodes: a token of the role node .* write nodes = \["node-a"\]$/,
    ],
    [{ sha256: sha256('x'), role: 'node', nodes: [] }, /^tokens\.0\.nodes: a token of the role node/],
    [
      { sha256: sha256('x'), role: 'admin', nodes: ['a'] },
      /^tokens\.0\.nodes: only a token of the role node has nodes/,
    ],
  ] as const) {
    expect(() => newWorld({ tokens: [bad as unknown as Token] })).toThrow(sentence)
  }
})

test('an empty list of tokens lets nobody in: the server does not start', () => {
  expect(() => newWorld({ tokens: [] })).toThrow(
    /^tokens: there is none; .* name no tokens at all to let everybody in$/,
  )
})
