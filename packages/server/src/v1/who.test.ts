import { createHash } from 'node:crypto'
import type { Token } from '@baton-lock/protocol'
import { askOn, openWebSocket } from '@baton-lock/test-support/opened-web-socket'
import { newWorld } from '@baton-lock/test-support/server-world'
import { expect, test } from 'vitest'

const sha256 = (secret: string) => createHash('sha256').update(secret).digest('hex')
const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` })
const tokens: Token[] = [
  { name: 'rack', sha256: sha256('of-a'), role: 'node', nodes: ['a', 'b'], namespace: 'team' },
  { sha256: sha256('eyes'), role: 'observe' },
  { sha256: sha256('root'), role: 'admin' },
]
const asA = { status: 'who', role: 'node', name: 'rack', nodes: ['a', 'b'], namespace: 'team' }
const offered = (secret: string) => `baton.token.${Buffer.from(secret).toString('base64url')}`

test('every asker is told who it is', async () => {
  const { get } = newWorld({ tokens })
  expect((await get('/v1/who', bearer('of-a'))).body).toEqual(asA)
  expect((await get('/v1/who', bearer('eyes'))).body).toEqual({
    status: 'who',
    role: 'observe',
    name: sha256('eyes').slice(0, 8),
  })
  expect((await get('/v1/who', bearer('root'))).body).toMatchObject({ status: 'who', role: 'admin' })
  expect((await get('/v1/who')).status).toBe(401)
  expect((await newWorld().get('/v1/who')).body).toEqual({ status: 'who', role: 'anybody' })
})

test('a batch and a stream may ask it too, among other requests', async () => {
  const world = newWorld({ tokens })
  const ask = { type: 'acquire', namespace: 'team', operation: 'lock', resource: 'r', node: 'a' }
  const { body } = await world.post('/v1/batch', { requests: [{ type: 'get-who' }, ask] }, bearer('of-a'))
  expect(body.replies).toMatchObject([asA, { status: 'granted' }])
  const alone = await world.post('/v1/batch', { requests: [{ type: 'get-who' }] }, bearer('of-a'))
  expect(alone.body.replies).toEqual([asA])
  expect(await askOn(await openWebSocket(world, { token: 'of-a' }), { type: 'get-who' })).toEqual(asA)
})

test('a page shows its token as a subprotocol, and the server answers with the other one', async () => {
  const world = newWorld({ tokens })
  for (const protocols of [
    ['baton.v1', offered('of-a')],
    [offered('of-a'), 'baton.v1'],
  ]) {
    const opened = await openWebSocket(world, { protocols })
    expect([opened.status, opened.webSocket.protocol]).toEqual([undefined, 'baton.v1'])
    expect(await askOn(opened, { type: 'get-who' })).toEqual(asA)
  }
  // As it stands in the header, whatever the token is made of.
  const odd = 'ünusual/+=?'
  const other = newWorld({ tokens: [{ sha256: sha256(odd), role: 'observe' }] })
  const opened = await openWebSocket(other, { protocols: ['baton.v1', offered(odd)] })
  expect(await askOn(opened, { type: 'get-who' })).toMatchObject({ role: 'observe' })
})

test('a token that is offered has to be known, and the header goes before it', async () => {
  const world = newWorld({ tokens })
  for (const protocols of [['baton.v1'], ['baton.v1', offered('wrong')], ['baton.v1', 'baton.token.']])
    expect((await openWebSocket(world, { protocols })).status).toBe(401)
  const both = await openWebSocket(world, { token: 'eyes', protocols: ['baton.v1', offered('root')] })
  expect(await askOn(both, { type: 'get-who' })).toMatchObject({ role: 'observe' })
  expect((await openWebSocket(world, { token: 'wrong', protocols: ['baton.v1', offered('root')] })).status).toBe(401)
})

test('no other request shows its token there', async () => {
  const { get, post } = newWorld({ tokens })
  const headers = { 'sec-websocket-protocol': `baton.v1, ${offered('root')}` }
  expect((await get('/v1/who', headers)).status).toBe(401)
  expect((await post('/v1/batch', { requests: [{ type: 'get-who' }] }, headers)).status).toBe(401)
})

test('without tokens a page may offer what it likes, and no protocol is answered that it did not offer', async () => {
  const world = newWorld()
  const opened = await openWebSocket(world, { protocols: ['baton.v1', offered('whatever')] })
  expect(opened.webSocket.protocol).toBe('baton.v1')
  expect(await askOn(opened, { type: 'get-who' })).toEqual({ status: 'who', role: 'anybody' })
  const plain = await openWebSocket(world)
  expect(plain.webSocket.protocol).toBe('')
})
