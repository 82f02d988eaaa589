import { settled } from '@baton-lock/store/conformance'
import { newClientWorld, outcomeOf } from '@baton-lock/test-support/client-world'
import { expect, test } from 'vitest'
import { GrantLostError, SkippedError } from '../errors.ts'

const lock = ['lock', 'l'] as const

test('the first outcome counts; one that comes late does not look as if it had', async () => {
  const { baton, wire } = newClientWorld().client({ node: 'a' })
  const grant = await baton.acquire('pull', 'p')
  await grant.succeed({ bytes: 1 })
  expect(await outcomeOf(grant.fail('too late'))).toMatchObject({ code: 'ended' })
  expect(await outcomeOf(grant.succeed({ bytes: 2 }))).toMatchObject({ code: 'ended' })
  await grant[Symbol.asyncDispose]()
  expect(wire.of('release')).toHaveLength(1)
  expect((await baton.status('p')).kept).toMatchObject([{ result: { bytes: 1 } }])
})

test('a grant can be given back: the next in line is not told of a failure', async () => {
  const world = newClientWorld()
  const [a, b] = [world.client({ node: 'a' }), world.client({ node: 'b' })]
  const grant = await a.baton.acquire(...lock)
  const waiting = b.baton.acquire(...lock)
  await settled()
  await grant.cancel()
  expect(await waiting).toMatchObject({ attempt: 1, previous: { node: 'a', outcome: 'cancelled' } })
})

test('what has been done already is thrown as a skip', async () => {
  const { baton } = newClientWorld().client({ node: 'a' })
  await baton.run('pull', 'p', () => 'there')
  for (const asking of [baton.acquire('pull', 'p'), baton.tryAcquire('pull', 'p')]) {
    const error = await outcomeOf(asking)
    expect(error).toBeInstanceOf(SkippedError)
    expect(error).toMatchObject({ code: 'skipped', result: 'there', by: 'a', fence: 1 })
  }
})

test('tryAcquire is now or null: it does not stand in line', async () => {
  const world = newClientWorld()
  const [a, b] = [world.client({ node: 'a' }), world.client({ node: 'b' })]
  const grant = await a.baton.tryAcquire(...lock)
  expect(grant).toMatchObject({ fence: 1 })
  expect(await b.baton.tryAcquire(...lock)).toBeNull()
  expect((await a.baton.status('l')).waiting).toBe(0)
  await grant?.succeed()
  expect(await b.baton.tryAcquire(...lock)).toMatchObject({ fence: 2 })
})

test("the caller's own signal aborts the signal of the grant, which lives on", async () => {
  const { baton } = newClientWorld().client({ node: 'a' })
  const stop = new AbortController()
  const grant = await baton.acquire(...lock, { signal: stop.signal })
  stop.abort(new Error('enough'))
  expect(grant.signal.reason).toMatchObject({ message: 'enough' })
  await grant.succeed()
  expect((await baton.status('l')).recent).toMatchObject([{ outcome: { outcome: 'success' } }])
})

test('a holder whose grant an operator revokes is told by its signal', async () => {
  const world = newClientWorld()
  const [a, operator] = [world.client({ node: 'a' }), world.client({ node: 'o' })]
  const grant = await a.baton.acquire(...lock)
  await world.clock.advance(1_500)
  expect(a.wire.openStreams).toBe(1)
  expect(await operator.baton.revoke(...lock)).toEqual({ node: 'a', fence: 1 })
  await settled()
  expect(grant.signal.reason).toBeInstanceOf(GrantLostError)
  expect(grant.signal.reason.message).toMatch(/revoked by o$/)
  expect(await outcomeOf(grant.succeed())).toBeInstanceOf(GrantLostError)
})

test('a grant that was revoked while nobody listened shows when the stream is back', async () => {
  const world = newClientWorld()
  const [a, operator] = [world.client({ node: 'a' }), world.client({ node: 'o' })]
  const [grant, other] = [await a.baton.acquire(...lock), await a.baton.acquire('lock', 'other')]
  await world.clock.advance(1_500)
  a.wire.cutStreams()
  await operator.baton.revoke(...lock)
  await world.clock.advance(1_000)
  expect(grant.signal.reason).toBeInstanceOf(GrantLostError)
  expect(other.signal.aborted).toBe(false)
})

test('a grant that comes while a stream is being opened is not taken for lost', async () => {
  const world = newClientWorld()
  const [a, b] = [world.client({ node: 'a' }), world.client({ node: 'b' })]
  const held = await a.baton.acquire(...lock)
  b.wire.eventsAfterMs = 100
  const waiting = b.baton.acquire(...lock)
  await settled()
  // The state of before is still under way.
  const grant = await b.baton.acquire('lock', 'other')
  await world.clock.advance(200)
  expect(grant.signal.aborted).toBe(false)
  await held.succeed()
  await world.clock.advance(200)
  await waiting
})

test('a release that is refused because the grant is gone is a lost grant', async () => {
  const world = newClientWorld()
  const [a, operator] = [world.client({ node: 'a' }), world.client({ node: 'o' })]
  const grant = await a.baton.acquire(...lock)
  await operator.baton.revoke(...lock)
  expect(await outcomeOf(grant.succeed())).toBeInstanceOf(GrantLostError)
})

test('a result that is no JSON is a success without one', async () => {
  const { baton, notices } = newClientWorld().client({ node: 'a' })
  const grant = await baton.acquire('pull', 'p')
  await grant.succeed(() => {})
  expect((await baton.status('p')).kept).toMatchObject([{ resultOmitted: true }])
  expect(notices).toEqual(['the result of pull p is not told to others: it is not JSON but a function'])
})

test('a grant that was revoked before the reply to its claim came is lost from the start', async () => {
  const { clock, service, client } = newClientWorld()
  const before = await client().baton.acquire('lock', 'r')
  const { baton, wire } = client()
  const asked = baton.acquire('lock', 'r')
  await clock.advance(100)
  wire.fate = ({ type }) => (type === 'acquire' ? { replyAfterMs: 50 } : 'pass')
  await before.succeed()
  await clock.advance(10)
  await service.call({ type: 'revoke', namespace: 'default', operation: 'lock', resource: 'r' })
  await clock.advance(100)
  const grant = await asked
  expect(grant.signal.aborted).toBe(true)
  expect(grant.signal.reason).toMatchObject({ code: 'grant-lost', message: expect.stringContaining('revoked') })
})
