import { settled } from '@baton-lock/store/conformance'
import { newClientWorld, outcomeOf, work } from '@baton-lock/test-support/client-world'
import { expect, test } from 'vitest'
import { GrantLostError } from '../errors.ts'

const lock = ['lock', 'l'] as const

test('a grant lives for as long as its session is renewed', async () => {
  const { client, clock } = newClientWorld()
  const { baton, wire } = client({ node: 'a', ttlMs: 3_000 })
  const grant = await baton.acquire(...lock)
  await clock.advance(60_000)
  expect(grant.signal.aborted).toBe(false)
  expect(wire.of('renew-session').length).toBeGreaterThanOrEqual(59)
  expect(wire.of('renew-session').length).toBeLessThanOrEqual(61)
  await grant.succeed()
})

test('a grant is lost by the monotonic clock before the server can give it to another', async () => {
  const { client, clock } = newClientWorld()
  const [a, b] = [client({ node: 'a', ttlMs: 10_000 }), client({ node: 'b' })]
  const grant = await a.baton.acquire(...lock)
  let lostAtMs = 0
  grant.signal.addEventListener('abort', () => {
    lostAtMs = clock.nowMs()
  })
  const startMs = clock.nowMs()
  let grantedAtMs = 0
  const waiting = b.baton.acquire(...lock).then((next) => {
    grantedAtMs = clock.nowMs()
    return next
  })
  a.wire.goDown()
  await clock.advance(20_000)
  expect((await waiting).fence).toBe(2)
  expect(grant.signal.reason).toBeInstanceOf(GrantLostError)
  expect(lostAtMs - startMs).toBe(9_000)
  expect(grantedAtMs - startMs).toBe(10_000)
})

test('a grant is lost when only the wall clock has passed its deadline, as after a sleep of the machine', async () => {
  const { client, clock } = newClientWorld()
  const { baton, skew } = client({ node: 'a', ttlMs: 10_000 })
  const grant = await baton.acquire(...lock)
  skew.wallMs = 60_000
  await clock.advance(1_000)
  expect(grant.signal.reason).toBeInstanceOf(GrantLostError)
})

test('a grant is lost when only the monotonic clock has passed its deadline', async () => {
  const { client, clock } = newClientWorld()
  const { baton, skew } = client({ node: 'a', ttlMs: 10_000 })
  const grant = await baton.acquire(...lock)
  skew.monoMs = 60_000
  await clock.advance(1_000)
  expect(grant.signal.reason).toBeInstanceOf(GrantLostError)
})

test('a wall clock that goes back does not make a lease longer', async () => {
  const { client, clock } = newClientWorld()
  const { baton, wire, skew } = client({ node: 'a', ttlMs: 10_000 })
  const grant = await baton.acquire(...lock)
  wire.goDown()
  skew.wallMs = -3_600_000
  await clock.advance(9_000)
  expect(grant.signal.aborted).toBe(true)
})

test('the deadline counts from when the renewal was sent, not from when it was answered', async () => {
  const { client, clock } = newClientWorld()
  const { baton, wire } = client({ node: 'a', ttlMs: 12_000 })
  // The renewal of 4 s is answered 1.5 s late; then nobody answers.
  wire.fate = ({ type }) => (type === 'renew-session' ? { replyAfterMs: 1_500 } : 'pass')
  const grant = await baton.acquire(...lock)
  await clock.advance(6_000)
  expect(wire.of('renew-session')).toHaveLength(1)
  wire.goDown()
  // Sent at 4 s, with a ttl of 12 s and a margin of 1.2 s.
  await clock.advance(4_000 + 10_800 - 6_000 - 1)
  expect(grant.signal.aborted).toBe(false)
  await clock.advance(1)
  expect(grant.signal.aborted).toBe(true)
})

test('one renewal is under way at most', async () => {
  const { client, clock } = newClientWorld()
  const { baton, wire } = client({ node: 'a', ttlMs: 30_000 })
  await baton.acquire(...lock)
  wire.fate = ({ type }) => (type === 'renew-session' ? 'lose-request' : 'pass')
  await clock.advance(11_900)
  expect(wire.of('renew-session')).toHaveLength(1)
  // Its time is up after 2 s, and the next one gets more.
  await clock.advance(300)
  expect(wire.of('renew-session')).toHaveLength(2)
})

test('a renewal that fails is tried again before the deadline', async () => {
  const { client, clock } = newClientWorld()
  const { baton, wire } = client({ node: 'a', ttlMs: 10_000 })
  const grant = await baton.acquire(...lock)
  await clock.advance(3_000)
  wire.goDown()
  await clock.advance(4_000)
  wire.comeBack()
  await clock.advance(30_000)
  expect(grant.signal.aborted).toBe(false)
  await grant.succeed()
})

test('a session that the server no longer knows takes all grants with it', async () => {
  const { client, clock, service } = newClientWorld()
  const { baton, wire } = client({ node: 'a' })
  const grants = [await baton.acquire('lock', 'x'), await baton.acquire('lock', 'y')]
  await service.call({ type: 'close-session', session: wire.of('open-session')[0].session })
  await clock.advance(11_000)
  for (const grant of grants) expect(grant.signal.reason).toBeInstanceOf(GrantLostError)
})

test('a callback that loses its grant is told by its signal, and reports no success', async () => {
  const { client, clock } = newClientWorld()
  const { baton, wire } = client({ node: 'a', ttlMs: 5_000 })
  const stopped = new Error('stopped by the signal')
  const running = outcomeOf(
    baton.run(
      ...lock,
      ({ signal }) => new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(stopped))),
    ),
  )
  await settled()
  wire.goDown()
  await clock.advance(5_000)
  const error = await running
  expect(error).toBeInstanceOf(GrantLostError)
  expect((error as GrantLostError).callbackError).toBe(stopped)
  expect(wire.of('release').map(({ outcome }) => outcome)).not.toContain('success')
})

test('a callback that ends well after its grant was lost has not performed', async () => {
  const { client, clock } = newClientWorld()
  const { baton, wire } = client({ node: 'a', ttlMs: 5_000 })
  const job = work()
  const running = outcomeOf(baton.run(...lock, () => job.done))
  await settled()
  wire.goDown()
  await clock.advance(5_000)
  wire.comeBack()
  job.finish()
  expect(await running).toBeInstanceOf(GrantLostError)
  expect(wire.of('release').map(({ outcome }) => outcome)).not.toContain('success')
})

test('an outcome is told until it is acknowledged, while the session lives', async () => {
  const { client, clock } = newClientWorld()
  const { baton, wire } = client({ node: 'a', ttlMs: 10_000 })
  const job = work<string>()
  const running = baton.run('pull', 'p', () => job.done)
  await settled()
  wire.goDown()
  job.finish('ok')
  await clock.advance(5_000)
  wire.comeBack()
  await clock.advance(5_000)
  expect(await running).toMatchObject({ status: 'performed' })
})

test('an outcome that was not acknowledged before the deadline is a lost grant', async () => {
  const { client, clock } = newClientWorld()
  const { baton, wire } = client({ node: 'a', ttlMs: 10_000 })
  const job = work()
  const running = outcomeOf(baton.run('pull', 'p', () => job.done))
  await settled()
  wire.goDown()
  job.finish()
  await clock.advance(10_000)
  const error = await running
  expect(error).toBeInstanceOf(GrantLostError)
  expect((error as Error).message).toMatch(/others may not know/)
})

test('a client with nothing under way renews nothing, and opens a session again when it needs one', async () => {
  const { client, clock } = newClientWorld()
  const { baton, wire, notices } = client({ node: 'a' })
  await (await baton.acquire(...lock)).succeed()
  await clock.advance(600_000)
  expect(wire.of('renew-session')).toEqual([])
  await (await baton.acquire(...lock)).succeed()
  expect(wire.of('open-session')).toHaveLength(2)
  expect(notices).toEqual([])
})

test('asks in quick succession share one session', async () => {
  const { client } = newClientWorld()
  const { baton, wire } = client({ node: 'a' })
  const grants = await Promise.all(['x', 'y', 'z'].map((resource) => baton.acquire('lock', resource)))
  expect(wire.of('open-session')).toHaveLength(1)
  for (const grant of grants) await grant.succeed()
})
