import { settled } from '@baton-lock/store/conformance'
import { newClientWorld, outcomeOf, work } from '@baton-lock/test-support/client-world'
import { expect, test } from 'vitest'
import type { Baton } from '../api.ts'
import { HoldLimitError } from '../errors.ts'

/** Ends soon after it is told to stop, with a result. */
const obeying = ({ signal }: { signal: AbortSignal }) =>
  new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve('too late')))

test.each([
  ['lock', (baton: Baton) => baton.lock('r', obeying, { maxHoldMs: 5_000 })],
  ['once', (baton: Baton) => baton.once('r', obeying, { maxHoldMs: 5_000, keepMs: 60_000 })],
  ['update', (baton: Baton) => baton.run('update', 'r', obeying, { maxHoldMs: 5_000 })],
] as const)('%s: a callback that runs for too long is told to stop, and has failed', async (operation, call) => {
  const { client, clock } = newClientWorld()
  const { baton } = client({ node: 'a' })
  const running = outcomeOf<unknown>(call(baton))
  await clock.advance(4_999)
  expect((await baton.status('r')).grants).toHaveLength(1)
  await clock.advance(1)
  const error = await running
  expect(error).toBeInstanceOf(HoldLimitError)
  const message = `${operation} r: held for longer than its limit of 5.0s`
  expect(error).toMatchObject({ code: 'held-too-long', message, resource: 'r', maxHoldMs: 5_000 })
  expect(await baton.status('r')).toMatchObject({
    grants: [],
    kept: [],
    recent: [{ outcome: { outcome: 'failure', error: message } }],
  })
})

test('lead: a leader whose time is over stands again, behind the others', async () => {
  const { client, clock } = newClientWorld()
  const [a, b] = [client({ node: 'a' }), client({ node: 'b' })]
  const stop = new AbortController()
  const leading = [a, b].map(({ baton }) =>
    baton.lead('r', obeying, { maxHoldMs: 5_000, signal: stop.signal }).catch((error) => error),
  )
  const leaders: unknown[] = []
  for (let terms = 0; terms < 4; terms++) {
    await clock.advance(1_000)
    leaders.push((await a.baton.leader('r'))?.node)
    await clock.advance(4_000)
  }
  expect(leaders).toEqual(['a', 'b', 'a', 'b'])
  expect(a.notices).toContain('no longer leads r (lead r: held for longer than its limit of 5.0s); stands again')
  stop.abort()
  await Promise.all(leading)
})

test('a callback that goes on keeps its grant, unless there is a grace', async () => {
  const { client, clock } = newClientWorld()
  const [a, b] = [client({ node: 'a' }), client({ node: 'b' })]
  const [kept, passedOn] = [work(), work()]
  const slow = [
    outcomeOf(a.baton.lock('kept', () => kept.done, { maxHoldMs: 5_000 })),
    outcomeOf(a.baton.lock('passed on', () => passedOn.done, { maxHoldMs: 5_000, graceMs: 2_000 })),
  ]
  await settled()
  const next = { kept: b.baton.lock('kept'), passedOn: b.baton.lock('passed on') }
  await clock.advance(6_900)
  expect((await b.baton.status('passed on')).waiting).toBe(1)
  await clock.advance(200)
  expect(await next.passedOn).toMatchObject({ fence: 2 })
  await clock.advance(60_000)
  expect((await b.baton.status('kept')).waiting).toBe(1)
  kept.finish()
  passedOn.fail(new Error('mine'))
  expect(await Promise.all(slow)).toMatchObject([
    { code: 'held-too-long' },
    { code: 'held-too-long', callbackError: { message: 'mine' } },
  ])
  expect(await next.kept).toMatchObject({ fence: 2 })
})

test('a lock of a scope that is held for too long is told by its signal, and its release fails', async () => {
  const { client, clock } = newClientWorld()
  const { baton } = client({ node: 'a' })
  for (const lock of [
    await baton.lock('a', { maxHoldMs: 5_000 }),
    (await baton.tryLock('b', { maxHoldMs: 5_000 }))!,
    await baton.acquire('lock', 'c', { maxHoldMs: 5_000 }),
  ]) {
    await clock.advance(5_000)
    expect(lock.signal.reason).toMatchObject({ code: 'held-too-long' })
    // It is held still, and only asked to stop.
    expect(lock.isHeld).toBe(true)
    lock.throwIfLost()
    const ending =
      'release' in lock && lock.resource !== 'c' ? lock.release() : (lock as { succeed(): Promise<void> }).succeed()
    expect(await outcomeOf(ending)).toMatchObject({ code: 'held-too-long' })
    expect(lock.isHeld).toBe(false)
    expect((await baton.status(lock.resource)).recent).toMatchObject([{ outcome: { outcome: 'failure' } }])
  }
})

test('work that ends in time has no limit left behind', async () => {
  const { client, clock } = newClientWorld()
  const { baton, notices } = client({ node: 'a' })
  expect(await baton.lock('r', () => 'done', { maxHoldMs: 5_000, graceMs: 1 })).toBe('done')
  const lock = await baton.lock('r')
  await clock.advance(60_000)
  expect(lock.isHeld).toBe(true)
  expect(notices).toEqual([])
})

test('a grace without a limit is a mistake', async () => {
  const { baton } = newClientWorld().client({ node: 'a' })
  await expect(baton.lock('r', { graceMs: 1_000 })).rejects.toThrow('graceMs counts from maxHoldMs')
  await expect(baton.lock('r', { maxHoldMs: 0 })).rejects.toThrow('maxHoldMs must be a whole number from 1')
})

test('a hold that lasts ten times longer than usual is a notice, once there have been enough', async () => {
  const { client, clock } = newClientWorld()
  const { baton, notices } = client({ node: 'a' })
  const holdFor = async (ms: number) => {
    const lock = await baton.lock('ledger')
    await clock.advance(ms)
    await lock.release()
  }
  await holdFor(60_000)
  for (let i = 0; i < 8; i++) await holdFor(3_000)
  await holdFor(300_000)
  expect(notices).toEqual([])
  for (let i = 0; i < 90; i++) await holdFor(3_000)
  // 98 of 3 s, one of 60 s and one of 300 s: 6.5 s on average.
  await holdFor(65_000)
  expect(notices).toEqual([])
  await holdFor(75_000)
  expect(notices).toEqual(['lock ledger: this client has held it for 1m 11s, and usually does for 7.1s'])
})

test('holds of milliseconds are usual, too', async () => {
  const { client, clock } = newClientWorld()
  const { baton, notices } = client({ node: 'a' })
  for (let i = 0; i < 64; i++) await baton.lock('ledger', () => {})
  const lock = await baton.lock('ledger')
  await clock.advance(9_900)
  expect(notices).toEqual([])
  await clock.advance(200)
  expect(notices).toEqual(['lock ledger: this client has held it for 10s, and usually does for 0ms'])
  await lock.release()
})
