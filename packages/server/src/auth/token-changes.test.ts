import { createHash } from 'node:crypto'
import type { Token } from '@baton-lock/protocol'
import { tokensSchema } from '@baton-lock/protocol/schemas'
import { askOn, openWebSocket } from '@baton-lock/test-support/opened-web-socket'
import { rawSocket } from '@baton-lock/test-support/raw-socket'
import { recordedLog } from '@baton-lock/test-support/recorded-log'
import { newWorld, quiet, roundTrips } from '@baton-lock/test-support/server-world'
import { expect, test } from 'vitest'
import { Tokens } from './tokens.ts'

const sha256 = (secret: string) => createHash('sha256').update(secret).digest('hex')
const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` })
/** When the simulated clock begins. */
const START_MS = 1_700_000_000_000
const inMs = (ms: number) => new Date(START_MS + ms)

const ofA: Token = { name: 'a', sha256: sha256('of-a'), role: 'node', nodes: ['a'] }
const ofB: Token = { name: 'b', sha256: sha256('of-b'), role: 'node', nodes: ['b'] }
const root: Token = { name: 'root', sha256: sha256('root'), role: 'admin' }

const lock = { operation: 'lock', resource: 'x' }

test('a token is good until it expires, and not at that moment any more', async () => {
  const { get, post, clock } = newWorld({ tokens: [{ ...ofA, expires: inMs(10_000) }] })
  await clock.advance(9_999)
  expect((await get('/v1/who', bearer('of-a'))).body).toMatchObject({ name: 'a', expiresAtMs: START_MS + 10_000 })
  await clock.advance(1)
  const refused = await post('/v1/acquire', { ...lock, node: 'a' }, bearer('of-a'))
  expect(refused).toMatchObject({ status: 401, body: { code: 'unauthorised' } })
  expect(refused.body.message).toBe('The token has expired, on 2023-11-14T22:13:30.000Z; send one that is good.')
  // It is no guess, and is not slowed down.
  for (let tries = 0; tries < 20; tries++) expect((await get('/v1/who', bearer('of-a'))).status).toBe(401)
})

test('when a token expires its streams end, and those of others go on', async () => {
  const world = newWorld({ tokens: [{ ...ofA, expires: inMs(200_000) }, { ...ofB, expires: inMs(90_000) }, root] })
  const socketOfA = await openWebSocket(world, { token: 'of-a' })
  const socketOfB = await openWebSocket(world, { token: 'of-b' })
  const eventsOfB = await world.stream('/v1/events', bearer('of-b'))
  const classicOfB = await world.stream('/lock/subscribe?type=lock&resource_id=x', bearer('of-b'))
  const eventsOfRoot = await world.stream('/v1/events', bearer('root'))
  await world.clock.advance(89_999)
  await quiet()
  expect(world.app.streams.size).toBe(5)
  await world.clock.advance(1)
  expect(await socketOfB.closed).toEqual({
    code: 1008,
    reason: 'The token has expired, on 2023-11-14T22:14:50.000Z; send one that is good.',
  })
  expect(await Promise.all([eventsOfB.ended, classicOfB.ended])).toEqual(['reset', 'reset'])
  expect(await askOn(socketOfA, { type: 'get-who' })).toMatchObject({ name: 'a' })
  expect((await openWebSocket(world, { token: 'of-b' })).status).toBe(401)
  await world.clock.advance(110_000)
  expect((await socketOfA.closed).code).toBe(1008)
  await world.clock.advance(86_400_000)
  expect(await Promise.race([eventsOfRoot.ended, quiet()])).toBeUndefined()
})

test('a clock that is set forward is noticed within a minute', async () => {
  let aheadMs = 0
  const world = newWorld({ tokens: [{ ...ofA, expires: inMs(3_600_000) }], wallMs: () => START_MS + aheadMs })
  const opened = await openWebSocket(world, { token: 'of-a' })
  aheadMs = 3_600_000
  // What it asks is refused at once.
  expect(await askOn(opened, { type: 'acquire', ...lock, node: 'a' })).toMatchObject({ code: 'unauthorised' })
  await world.clock.advance(60_000)
  expect((await opened.closed).code).toBe(1008)
})

test('tokens are replaced while the server runs: those that are gone lose their streams, the others keep them', async () => {
  const world = newWorld({ tokens: [ofA, ofB, root] })
  const socketOfA = await openWebSocket(world, { token: 'of-a' })
  const eventsOfB = await world.stream('/v1/events', bearer('of-b'))
  const socketOfB = await openWebSocket(world, { token: 'of-b' })
  await askOn(socketOfA, { type: 'acquire', ...lock, node: 'a' })
  // In another order, and written in another way.
  world.app.replaceTokens([
    { ...root, name: undefined },
    { ...ofA, sha256: ofA.sha256!.toUpperCase() },
  ])
  expect(await eventsOfB.ended).toBe('reset')
  expect(await socketOfB.closed).toMatchObject({ code: 1008, reason: expect.stringContaining('does not know') })
  expect((await world.get('/v1/who', bearer('of-b'))).status).toBe(401)
  expect(await askOn(socketOfA, { type: 'get-who' })).toMatchObject({ name: 'a' })
  expect((await world.get('/v1/who', bearer('root'))).body.name).toBe(sha256('root').slice(0, 8))
  world.app.replaceTokens([ofA, ofB, root])
  expect((await world.get('/v1/who', bearer('of-b'))).body.name).toBe('b')
})

test('what is sent behind the back of a removal is not done', async () => {
  const world = newWorld({ tokens: [ofA, root] })
  const opened = await openWebSocket(world, { token: 'of-a' })
  await opened.until(() => opened.frames.length > 0)
  opened.webSocket.send(JSON.stringify({ from: 1, requests: [{ type: 'acquire', ...lock, node: 'a' }] }))
  world.app.replaceTokens([root])
  await opened.closed
  expect((await world.service.counts()).grants).toBe(0)
})

test('a request that began before the removal, and is whole after it, is not done', async () => {
  const world = newWorld({ tokens: [ofA, root] })
  const socket = await rawSocket(world)
  const body = JSON.stringify({ ...lock, node: 'a' })
  const length = Buffer.byteLength(body)
  socket.write(
    `POST /v1/acquire HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer of-a\r\nContent-Length: ${length}\r\n\r\n`,
  )
  await roundTrips(world)
  world.app.replaceTokens([root])
  socket.write(body)
  const answer = await new Promise<string>((resolve) => socket.once('data', (data) => resolve(String(data))))
  expect(answer).toMatch(/^HTTP\/1\.1 401 /)
  expect((await world.service.counts()).grants).toBe(0)
})

test('a token with other rights is another token: it comes back with those', async () => {
  const world = newWorld({ tokens: [ofA, root] })
  const opened = await openWebSocket(world, { token: 'of-a' })
  world.app.replaceTokens([{ ...ofA, nodes: ['a', 'a2'] }, root])
  expect((await opened.closed).code).toBe(1008)
  const again = await openWebSocket(world, { token: 'of-a' })
  expect(await askOn(again, { type: 'get-who' })).toMatchObject({ nodes: ['a', 'a2'] })
})

test('a list with a mistake in it changes nothing', async () => {
  const { log, entries } = recordedLog()
  const world = newWorld({ tokens: [ofA, root], log })
  const opened = await openWebSocket(world, { token: 'of-a' })
  for (const [wrong, sentence] of [
    [[], 'tokens: there is none'],
    [[root, { ...ofA, nodes: [] }], 'tokens.1.nodes: a token of the role node'],
    [[root, { ...ofB, name: 'root' }], 'tokens.1.name: another entry has this name'],
  ] as const) {
    expect(() => world.app.replaceTokens(wrong as unknown as Token[])).toThrow(sentence)
  }
  expect(await askOn(opened, { type: 'get-who' })).toMatchObject({ name: 'a' })
  expect(entries).toEqual([])
})

test('a server that was started without tokens is not given any', () => {
  expect(() => newWorld().app.replaceTokens([root])).toThrow('started without; start it again')
})

test('a token that stays the same stays the same object, by which accounts and quotas go on', () => {
  const tokens = new Tokens([ofA, ofB])
  const before = tokens.find('of-a')!
  const { added, removed } = tokens.replace([{ ...ofA }, root])
  expect(tokens.find('of-a')).toBe(before)
  expect([added.map(({ name }) => name), removed.map(({ name }) => name)]).toEqual([['root'], ['b']])
})

test('a token may have a name and a time at which it expires; both have rules', () => {
  const sentences = (...tokens: readonly unknown[]) =>
    tokensSchema.safeParse(tokens).error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
  const expires = (value: unknown) => sentences({ ...ofA, expires: value })
  expect(tokensSchema.parse([{ ...ofA, expires: '2027-01-31T12:00:00+02:00' }])[0]!.expires).toEqual(
    new Date('2027-01-31T10:00:00Z'),
  )
  for (const bad of [
    '2027-01-31',
    '2027-01-31T00:00:00',
    'tomorrow',
    1_700_000_000,
    '2027-13-31T00:00:00Z',
    new Date(NaN),
  ])
    expect(expires(bad)).toEqual([expect.stringMatching(/^0\.expires: must be a time with its zone/)])
  expect(sentences({ ...ofA, name: 'a\n' })).toEqual([expect.stringContaining('0.name: must be 1 to 512 bytes')])
  expect(sentences({ ...ofA, name: undefined }, { ...ofA, name: undefined })).toEqual([
    '1.sha256: the same token stands in another entry; remove one of them',
  ])
  const bare = { role: 'observe' }
  expect(sentences(bare)).toEqual([expect.stringMatching(/^0\.sha256: an entry has either sha256/)])
  expect(sentences({ ...root, certificate: 'CN=x' })).toEqual([
    expect.stringMatching(/^0\.sha256: an entry has either/),
  ])
  for (const bad of ['node-a', 'CN=', 'sha256:abc', 'IP:127.0.0.1'])
    expect(sentences({ ...bare, certificate: bad })).toEqual([expect.stringMatching(/^0\.certificate: must be "CN=/)])
})
