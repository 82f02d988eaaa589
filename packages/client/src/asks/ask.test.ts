import { settled } from '@baton-lock/store/conformance'
import { newClientWorld, outcomeOf } from '@baton-lock/test-support/client-world'
import { expect, test } from 'vitest'
import { RefusedError } from '../errors.ts'

const lock = ['lock', 'l'] as const

/** Loses what belongs to the first so many requests of a type. */
function losing(what: 'lose-request' | 'lose-reply', type: string, times: number) {
  return (request: { type: string }) => (request.type === type && times-- > 0 ? what : 'pass')
}

test.each(['lose-request', 'lose-reply'] as const)(
  'an acquire with %s is the same ask when it is tried again',
  async (fate) => {
    const { client, clock } = newClientWorld()
    const { baton, wire } = client({ node: 'a' })
    wire.fate = losing(fate, 'acquire', 2)
    let runs = 0
    const running = baton.run(...lock, ({ fence }) => {
      runs++
      return fence
    })
    await clock.advance(10_000)
    expect(await running).toMatchObject({ status: 'performed', result: 1 })
    expect(runs).toBe(1)
    expect(wire.of('acquire')).toHaveLength(3)
    expect(new Set(wire.of('acquire').map(({ owner, hold }) => `${owner} ${hold}`)).size).toBe(1)
  },
)

test('a claim whose reply is lost is claimed again, and the work runs once', async () => {
  const { client, clock } = newClientWorld()
  const [a, b] = [client({ node: 'a' }), client({ node: 'b' })]
  const grant = await a.baton.acquire(...lock)
  let runs = 0
  const waiting = b.baton.run(...lock, ({ fence }) => {
    runs++
    return fence
  })
  await settled()
  expect(b.wire.of('acquire')).toHaveLength(1)
  b.wire.fate = losing('lose-reply', 'acquire', 1)
  await grant.succeed()
  await settled()
  expect(runs).toBe(0)
  await clock.advance(3_000)
  expect(await waiting).toMatchObject({ status: 'performed', result: 2 })
  expect(runs).toBe(1)
  expect(new Set(b.wire.of('acquire').map(({ owner, hold }) => `${owner} ${hold}`)).size).toBe(1)
})

test('a release whose reply is lost is told again, and counts once', async () => {
  const { client, clock } = newClientWorld()
  const { baton, wire } = client({ node: 'a' })
  wire.fate = losing('lose-reply', 'release', 1)
  const running = baton.run('pull', 'p', () => 'ok')
  await clock.advance(3_000)
  expect(await running).toMatchObject({ status: 'performed' })
  expect(wire.of('release')).toHaveLength(2)
  expect((await baton.status('p')).kept).toMatchObject([{ fence: 1, result: 'ok' }])
})

test('a claim that comes too late asks anew as another ask, within its wait limit', async () => {
  const { client, clock } = newClientWorld()
  const [a, b, c] = [client({ node: 'a' }), client({ node: 'b' }), client({ node: 'c' })]
  const held = await a.baton.acquire(...lock)
  const waiting = b.baton.acquire(...lock)
  await settled()
  const behind = c.baton.acquire(...lock)
  await settled()
  b.wire.fate = ({ type }) => (type === 'acquire' ? 'lose-request' : 'pass')
  await held.succeed()
  await clock.advance(6_000)
  // It passed on to the next in line.
  const next = await behind
  b.wire.comeBack()
  await clock.advance(15_000)
  const holds = new Set(b.wire.of('acquire').map(({ owner, hold }) => `${owner} ${hold}`))
  expect(holds.size).toBe(2)
  await next.succeed()
  expect((await waiting).fence).toBe(4)
})

test('a stream that ends keeps the place in line: the ask goes on with its hold, and runs once', async () => {
  const { client, clock } = newClientWorld()
  const [a, b] = [client({ node: 'a' }), client({ node: 'b' })]
  const held = await a.baton.acquire(...lock)
  let runs = 0
  const waiting = b.baton.run(...lock, () => {
    runs++
  })
  await settled()
  b.wire.streams = false
  b.wire.cutStreams()
  await clock.advance(20)
  // What happens while nobody listens must not be lost.
  await held.succeed()
  b.wire.streams = true
  await clock.advance(1_000)
  expect((await waiting).status).toBe('performed')
  expect(runs).toBe(1)
  expect(new Set(b.wire.of('acquire').map(({ owner, hold }) => `${owner} ${hold}`)).size).toBe(1)
})

test('a skip that is told while nobody listens is known after reconnecting', async () => {
  const { client, clock } = newClientWorld()
  const [a, b] = [client({ node: 'a' }), client({ node: 'b' })]
  const held = await a.baton.acquire('pull', 'p')
  const waiting = b.baton.run('pull', 'p', () => expect.unreachable())
  await settled()
  b.wire.cutStreams()
  await held.succeed({ bytes: 3 })
  await clock.advance(1_000)
  expect(await waiting).toMatchObject({ status: 'skipped', by: 'a', result: { bytes: 3 } })
})

test('where no stream can be had, those who wait ask now and then', async () => {
  const { client, clock } = newClientWorld()
  const [a, b] = [client({ node: 'a' }), client({ node: 'b' })]
  b.wire.streams = false
  const held = await a.baton.acquire(...lock)
  const waiting = b.baton.acquire(...lock)
  await clock.advance(20_000)
  await held.succeed()
  await clock.advance(4_000)
  expect((await waiting).fence).toBe(2)
})

test('an idle waiter sends nothing but its renewals and, rarely, its ask', async () => {
  const { client, clock } = newClientWorld()
  const [a, b] = [client({ node: 'a' }), client({ node: 'b' })]
  const held = await a.baton.acquire(...lock)
  const waiting = b.baton.acquire(...lock)
  await clock.advance(600_000)
  expect(b.wire.of('acquire').length).toBeLessThanOrEqual(1 + 40)
  expect(b.wire.of('renew-session').length).toBeLessThanOrEqual(61)
  expect(b.wire.opened).toBe(1)
  await held.succeed()
  await waiting
})

test('all waiters of a client share one stream, which goes when nobody waits or holds', async () => {
  const { client, clock } = newClientWorld()
  const [a, b] = [client({ node: 'a' }), client({ node: 'b' })]
  const held = await Promise.all(['x', 'y', 'z'].map((resource) => a.baton.acquire('lock', resource)))
  const waiting = ['x', 'y', 'z'].map((resource) => b.baton.acquire('lock', resource))
  await settled()
  expect([b.wire.opened, b.wire.openStreams]).toEqual([1, 1])
  for (const grant of held) await grant.succeed()
  for (const each of waiting) await (await each).succeed()
  expect(b.wire.openStreams).toBe(1)
  await clock.advance(1_000)
  expect([b.wire.opened, b.wire.openStreams]).toEqual([1, 0])
})

test('an aborted ask leaves the queue and rejects with the reason of the signal', async () => {
  const { client } = newClientWorld()
  const [a, b] = [client({ node: 'a' }), client({ node: 'b' })]
  await a.baton.acquire(...lock)
  const stop = new AbortController()
  const waiting = outcomeOf(b.baton.acquire(...lock, { signal: stop.signal }))
  await settled()
  expect((await a.baton.status('l')).waiting).toBe(1)
  stop.abort(new Error('enough'))
  expect(await waiting).toEqual(new Error('enough'))
  await settled()
  expect((await a.baton.status('l')).waiting).toBe(0)
})

test('an ask that is given up before its reply comes leaves no grant behind', async () => {
  const { client, clock } = newClientWorld()
  const { baton, wire } = client({ node: 'a' })
  wire.fate = losing('lose-reply', 'acquire', 1)
  const stop = new AbortController()
  const asking = outcomeOf(baton.acquire(...lock, { signal: stop.signal }))
  await settled()
  expect((await baton.status('l')).grants).toHaveLength(1)
  wire.fate = losing('lose-request', 'cancel', 2)
  stop.abort()
  expect(await asking).toBe(stop.signal.reason)
  await clock.advance(20_000)
  expect((await baton.status('l')).grants).toEqual([])
})

test('a wait limit that is over ends the wait by the clock of the client, and the place in line', async () => {
  const { client, clock } = newClientWorld()
  const [a, b] = [client({ node: 'a' }), client({ node: 'b' })]
  await a.baton.acquire(...lock)
  const waiting = outcomeOf(b.baton.acquire(...lock, { waitMs: 5_000 }))
  await clock.advance(4_999)
  expect((await a.baton.status('l')).waiting).toBe(1)
  await clock.advance(1)
  const error = await waiting
  expect(error).toBeInstanceOf(RefusedError)
  expect(error).toMatchObject({ code: 'wait-over' })
  expect((await a.baton.status('l')).waiting).toBe(0)
})

test('the wait limit counts from the first ask, however often it is asked again', async () => {
  const { client, clock } = newClientWorld()
  const [a, b] = [client({ node: 'a' }), client({ node: 'b', ttlMs: 2_000 })]
  await a.baton.acquire(...lock)
  const waiting = outcomeOf(b.baton.acquire(...lock, { waitMs: 10_000 }))
  await settled()
  // Its session goes, and with it the first place.
  b.wire.fate = ({ type }) => (type === 'renew-session' ? 'lose-request' : 'pass')
  await clock.advance(9_900)
  const asked = b.wire.of('acquire')
  expect(asked.length).toBeGreaterThan(2)
  expect(asked.at(-1).waitMs).toBeLessThan(4_000)
  // Another session, another ask: what is still under way of the old one cannot be taken for the new one.
  const sessions = new Set(asked.map(({ session }) => session))
  expect(sessions.size).toBeGreaterThan(2)
  expect(new Set(asked.map(({ owner, hold, session }) => `${owner} ${hold} ${session}`)).size).toBe(sessions.size)
  expect(new Set(asked.map(({ owner, hold }) => `${owner} ${hold}`)).size).toBe(sessions.size)
  await clock.advance(100)
  expect(await waiting).toMatchObject({ code: 'wait-over' })
})

test('waitMs 0 does not wait: busy is refused at once', async () => {
  const { client } = newClientWorld()
  const { baton } = client({ node: 'a' })
  const held = await baton.acquire(...lock)
  expect(await outcomeOf(baton.acquire(...lock, { waitMs: 0 }))).toMatchObject({ code: 'busy' })
  await held.succeed()
  expect((await baton.acquire(...lock, { waitMs: 0 })).fence).toBe(2)
})

test('a session that is lost while it waits: the ask goes on under another one, as another ask', async () => {
  const { client, clock, service } = newClientWorld()
  const [a, b] = [client({ node: 'a' }), client({ node: 'b' })]
  const held = await a.baton.acquire(...lock)
  const waiting = b.baton.acquire(...lock)
  await settled()
  const { session } = b.wire.of('open-session')[0]
  await service.call({ type: 'close-session', session })
  await clock.advance(1_000)
  expect(b.wire.of('open-session')).toHaveLength(2)
  expect((await a.baton.status('l')).waiting).toBe(1)
  await held.succeed()
  const grant = await waiting
  expect(grant.fence).toBe(2)
  const asked = b.wire.of('acquire')
  expect(asked[0].owner).not.toBe(asked.at(-1).owner)
  expect(asked.at(-1).session).not.toBe(session)
})

test('a grant that arrives under a session that was lost meanwhile is not used', async () => {
  const { client, clock } = newClientWorld()
  const { baton, wire } = client({ node: 'a', ttlMs: 1_000 })
  wire.fate = ({ type }) => {
    if (type === 'renew-session') return 'lose-request'
    return type === 'acquire' ? { replyAfterMs: 900 } : 'pass'
  }
  let runs = 0
  const running = baton.run(...lock, ({ fence }) => {
    runs++
    return fence
  })
  await clock.advance(850)
  wire.comeBack()
  await clock.advance(5_000)
  // The first grant, of fence 1, was never run under.
  expect(await running).toMatchObject({ status: 'performed', result: 2 })
  expect(runs).toBe(1)
  expect(wire.of('acquire').at(-1).session).not.toBe(wire.of('acquire')[0].session)
  expect(wire.of('cancel')).toMatchObject([{ owner: wire.of('acquire')[0].owner, hold: wire.of('acquire')[0].hold }])
})
