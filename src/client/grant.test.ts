import { expect, test } from 'vitest'
import { settled } from '../testing/index.ts'
import { newClientWorld, outcomeOf } from '../testing/unit/client-world.ts'
import { GrantLostError, SkippedError } from './errors.ts'

const lock = ['lock', 'l'] as const

test('the first outcome counts; more of them change nothing', async () => {
  const { baton, wire } = newClientWorld().client({ node: 'a' })
  const grant = await baton.acquire('pull', 'p')
  await grant.succeed({ bytes: 1 })
  await grant.fail('too late')
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

test('what has been done already: tryAcquire returns the skip, acquire throws it', async () => {
  const { baton } = newClientWorld().client({ node: 'a' })
  await baton.run('pull', 'p', () => 'there')
  expect(await baton.tryAcquire('pull', 'p')).toMatchObject({ status: 'skipped', result: 'there', by: 'a' })
  const error = await outcomeOf(baton.acquire('pull', 'p'))
  expect(error).toBeInstanceOf(SkippedError)
  expect(error).toMatchObject({ code: 'skipped', result: 'there', by: 'a' })
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
  expect(grant.signal.reason.message).toMatch(/revoked by an operator/)
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

test('a result that is no JSON is refused before it is told, and the grant lives on', async () => {
  const { baton } = newClientWorld().client({ node: 'a' })
  const grant = await baton.acquire(...lock)
  expect(await outcomeOf(grant.succeed((() => {}) as never))).toBeInstanceOf(TypeError)
  await grant.succeed()
})
