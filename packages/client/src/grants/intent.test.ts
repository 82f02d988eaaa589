import { settled } from '@baton-lock/store/conformance'
import { newClientWorld, outcomeOf, work } from '@baton-lock/test-support/client-world'
import { expect, test } from 'vitest'
import type { Baton, LeadContext } from '../api.ts'
import { GrantLostError } from '../errors.ts'

const TTL_MS = 3_000

test('lock: one at a time, in the order of asking, and each gets what its callback returns', async () => {
  const world = newClientWorld()
  const [a, b] = [world.client({ node: 'a' }), world.client({ node: 'b' })]
  const order: string[] = []
  const first = work()
  const locking = [
    a.baton.lock('l', async () => {
      await first.done
      order.push('a')
      return 1
    }),
    b.baton.lock('l', ({ fence }) => {
      order.push('b')
      return fence
    }),
  ]
  await settled()
  expect(order).toEqual([])
  first.finish()
  expect(await Promise.all(locking)).toEqual([1, 2])
  expect(order).toEqual(['a', 'b'])
})

test('lock: whatever is thrown, leaving is a success, and what is thrown is thrown on', async () => {
  const { baton } = newClientWorld().client({ node: 'a' })
  const thrown = new Error('mine')
  const failing = async () => {
    throw thrown
  }
  expect(await outcomeOf(baton.lock('l', failing))).toBe(thrown)
  const lock = await baton.lock('l')
  expect(lock).toMatchObject({ resource: 'l', node: 'a', fence: 2 })
  await lock[Symbol.asyncDispose]()
  expect(await baton.status('l')).toMatchObject({ grants: [], recent: [{ outcome: { outcome: 'success' } }] })
  const next = await baton.acquire('lock', 'l')
  expect(next).toMatchObject({ attempt: 1, previous: undefined })
})

test('lock: released early, once; one that was lost says so', async () => {
  const world = newClientWorld()
  const { baton, wire } = world.client({ node: 'a' })
  const lock = await baton.lock('l')
  await lock.release()
  await lock.release()
  expect(wire.of('release')).toHaveLength(1)
  const another = await baton.lock('l')
  await baton.revoke('lock', 'l')
  expect(await outcomeOf(another.release())).toBeInstanceOf(GrantLostError)
})

test('lock: who holds it may enter it again', async () => {
  const { baton } = newClientWorld().client({ node: 'a' })
  const lock = await baton.lock('l')
  expect(await baton.lock('l', ({ fence }) => fence, { owner: lock })).toBe(lock.fence)
  expect(await outcomeOf(baton.lock('l', () => expect.unreachable(), { waitMs: 0 }))).toMatchObject({ code: 'busy' })
})

test('lock: a lock that is lost meanwhile is a GrantLostError, with what the work threw beside its cause', async () => {
  const world = newClientWorld()
  const { baton } = world.client({ node: 'a' })
  const [quiet, loud] = [work(), work()]
  const locking = [outcomeOf(baton.lock('quiet', () => quiet.done)), outcomeOf(baton.lock('loud', () => loud.done))]
  await world.clock.advance(1_500)
  await baton.revoke('lock', 'quiet')
  await baton.revoke('lock', 'loud')
  await settled()
  quiet.finish()
  loud.fail(new Error('mine'))
  expect(await Promise.all(locking)).toMatchObject([
    { code: 'grant-lost' },
    { code: 'grant-lost', callbackError: { message: 'mine' } },
  ])
})

test('once: done by one, those who wait get its result, and nothing is kept', async () => {
  const world = newClientWorld()
  const clients = ['a', 'b', 'c'].map((node) => world.client({ node }).baton)
  const page = work<{ html: string }>()
  let renders = 0
  const render = () => {
    renders++
    return page.done
  }
  const asking = clients.map((baton) => baton.once('page', render))
  await settled()
  page.finish({ html: '<p>' })
  const done = await Promise.all(asking)
  expect(done.map(({ status }) => status)).toEqual(['performed', 'skipped', 'skipped'])
  expect(done.map(({ result }) => result)).toEqual([{ html: '<p>' }, { html: '<p>' }, { html: '<p>' }])
  expect(await clients[0]!.status('page')).toMatchObject({ kept: [], references: [] })
  expect(await clients[1]!.once('page', () => 'anew')).toMatchObject({ status: 'performed' })
  expect(renders).toBe(1)
})

test('once: a success is good for as long as the one that performs it says, or until it is forgotten', async () => {
  const world = newClientWorld()
  const { baton } = world.client({ node: 'a' })
  let runs = 0
  const nightly = (options = {}) => baton.once('nightly', () => ++runs, { keepMs: 20_000, ...options })
  expect(await nightly()).toMatchObject({ status: 'performed', result: 1 })
  await world.clock.advance(19_999)
  expect(await nightly()).toMatchObject({ status: 'skipped', result: 1, by: 'a' })
  await world.clock.advance(1)
  expect(await nightly()).toMatchObject({ status: 'performed', result: 2 })
  expect(await nightly({ revision: 'v2' })).toMatchObject({ status: 'performed', result: 3 })
  expect(await nightly({ revision: 'v2' })).toMatchObject({ status: 'skipped' })
  expect(await baton.forget('nightly')).toBe(true)
  expect(await baton.forget('nightly')).toBe(false)
  expect(await nightly({ revision: 'v2' })).toMatchObject({ status: 'performed', result: 4 })
})

test('once: how long a success is good counts from when the work began', async () => {
  const world = newClientWorld()
  const { baton } = world.client({ node: 'a' })
  const long = work()
  const doing = baton.once('long', () => long.done, { keepMs: 20_000 })
  await world.clock.advance(15_000)
  long.finish()
  await doing
  await world.clock.advance(4_999)
  expect(await baton.once('long', () => 'anew')).toMatchObject({ status: 'skipped' })
  await world.clock.advance(1)
  expect(await baton.once('long', () => 'anew')).toMatchObject({ status: 'performed' })
})

test('forget: of another operation; one that the table does not have is refused', async () => {
  const { baton } = newClientWorld().client({ node: 'a' })
  await baton.run('pull', 'p', () => 1, { reference: false })
  expect(await baton.forget('p')).toBe(false)
  expect(await baton.forget('p', { operation: 'pull' })).toBe(true)
  expect(await baton.run('pull', 'p', () => 2)).toMatchObject({ status: 'performed' })
  expect(await outcomeOf(baton.forget('p', { operation: 'pul' }))).toMatchObject({ code: 'unknown-operation' })
})

test('lead: one leads, the next takes over when it ends, and each ends with what its callback came to', async () => {
  const world = newClientWorld()
  const [a, b, c] = ['a', 'b', 'c'].map((node) => world.client({ node }).baton) as [Baton, Baton, Baton]
  const terms = [work<string>(), work<string>(), work<string>()]
  const leading = [a, b, c].map((baton, index) => outcomeOf(baton.lead('boss', () => terms[index]!.done)))
  await settled()
  expect(await c.leader('boss')).toEqual({ node: 'a', fence: 1, since: expect.any(Date) })
  terms[0]!.finish('done')
  expect(await leading[0]).toBe('done')
  await settled()
  expect(await c.leader('boss')).toMatchObject({ node: 'b', fence: 2 })
  terms[1]!.fail(new Error('mine'))
  expect(await leading[1]).toMatchObject({ message: 'mine' })
  await settled()
  terms[2]!.finish('done too')
  expect(await leading[2]).toBe('done too')
  expect(await c.leader('boss')).toBeUndefined()
})

test('lead: one that is revoked stops, and stands again by itself', async () => {
  const world = newClientWorld()
  const { baton, notices } = world.client({ node: 'a' })
  const terms: LeadContext[] = []
  const stop = new AbortController()
  const untilStopped = (context: LeadContext) =>
    new Promise<string>((resolve) => {
      terms.push(context)
      context.signal.addEventListener('abort', () => resolve('stopped'))
    })
  const leading = baton.lead('boss', untilStopped, { signal: stop.signal })
  await world.clock.advance(1_500)
  await baton.revoke('lead', 'boss')
  await settled()
  expect(terms.map(({ fence, signal }) => [fence, signal.aborted])).toEqual([
    [1, true],
    [2, false],
  ])
  expect(notices).toEqual([expect.stringMatching(/no longer leads boss .*revoked.*; stands again/)])
  stop.abort()
  expect(await leading).toBe('stopped')
  expect((await baton.status('boss')).recent).toMatchObject([{ outcome: { outcome: 'success' } }])
})

test('lead: one that is cut off stops before another leads, and does not lead beside it when it is back', async () => {
  const world = newClientWorld()
  const [a, b] = [world.client({ node: 'a', ttlMs: TTL_MS }), world.client({ node: 'b', ttlMs: TTL_MS })]
  const live = new Map<string, AbortSignal>()
  const leads = (node: string) => (context: LeadContext) =>
    new Promise<void>((resolve) => {
      live.set(node, context.signal)
      context.signal.addEventListener('abort', () => resolve())
    })
  void outcomeOf(a.baton.lead('boss', leads('a')))
  await settled()
  void outcomeOf(b.baton.lead('boss', leads('b')))
  await settled()
  a.wire.goDown()
  for (let passedMs = 0; !live.has('b'); passedMs += 50) {
    expect(passedMs).toBeLessThan(TTL_MS + 500)
    await world.clock.advance(50)
  }
  expect(live.get('a')!.aborted).toBe(true)
  a.wire.comeBack()
  await world.clock.advance(10_000)
  expect(live.get('a')!.aborted).toBe(true)
  expect(live.get('b')!.aborted).toBe(false)
  expect(await a.baton.status('boss')).toMatchObject({ grants: [{ node: 'b' }], waiters: [{ node: 'a' }] })
  await Promise.all([a.baton.close(), b.baton.close()])
})

test('lead: a standby that is asked to stop leaves the line; nobody leads without a grant', async () => {
  const world = newClientWorld()
  const [a, b] = [world.client({ node: 'a' }), world.client({ node: 'b', whenUnavailable: 'run' })]
  const term = work()
  void a.baton.lead('boss', () => term.done)
  await settled()
  const stop = new AbortController()
  const standing = outcomeOf(b.baton.lead('boss', () => expect.unreachable(), { signal: stop.signal }))
  await settled()
  b.wire.goDown()
  await world.clock.advance(60_000)
  b.wire.comeBack()
  stop.abort()
  expect(await standing).toBeUndefined()
  expect((await a.baton.status('boss')).waiters).toEqual([])
  term.finish()
})

test('lead: one that is asked to stop before it stands does not stand; one whose client is closed is told so', async () => {
  const { baton } = newClientWorld().client({ node: 'a' })
  expect(await baton.lead('boss', () => expect.unreachable(), { signal: AbortSignal.abort() })).toBeUndefined()
  const term = work()
  void baton.lead('boss', () => term.done).catch(() => {})
  await settled()
  const standing = outcomeOf(baton.lead('boss', () => expect.unreachable()))
  await settled()
  await baton.close()
  expect(await standing).toMatchObject({ code: 'closed' })
})

test('tryLock: the lock or null, without waiting; leaving it is its normal end', async () => {
  const world = newClientWorld()
  const [a, b] = [world.client({ node: 'a' }), world.client({ node: 'b' })]
  const lock = await a.baton.tryLock('l')
  expect(lock).toMatchObject({ resource: 'l', fence: 1, isHeld: true })
  expect(await b.baton.tryLock('l')).toBeNull()
  expect(b.wire.sent.map(({ type }) => type)).toEqual(['open-session', 'acquire'])
  expect(await a.baton.tryLock('l', { owner: lock! })).toMatchObject({ fence: 1 })
  expect(await b.baton.tryLock('l', { namespace: 'other' })).toMatchObject({ fence: 1 })
  await expect(b.baton.tryLock('l', { waitMs: 5 } as object)).rejects.toThrow("tryLock has no option 'waitMs'")
  const short = await b.baton.tryLock('m')
  await short?.[Symbol.asyncDispose]()
  expect((await b.baton.status('m')).recent).toMatchObject([{ outcome: { outcome: 'success' } }])
  b.wire.goDown()
  const trying = outcomeOf(b.baton.tryLock('n'))
  await world.clock.advance(2_000)
  expect(await trying).toMatchObject({ code: 'unavailable', resource: 'n', operation: 'lock' })
})
