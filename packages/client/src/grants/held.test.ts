import { settled } from '@baton-lock/store/conformance'
import { newClientWorld, outcomeOf } from '@baton-lock/test-support/client-world'
import { expect, test } from 'vitest'
import { GrantLostError } from '../errors.ts'

const lock = ['lock', 'l'] as const

test('a grant says how long it is good without another renewal', async () => {
  const { client, clock } = newClientWorld()
  const { baton } = client({ node: 'a', ttlMs: 30_000 })
  const grant = await baton.acquire(...lock)
  // The margin is a tenth of the ttl.
  expect(grant).toMatchObject({ isHeld: true, remainingMs: 27_000 })
  await clock.advance(4_000)
  expect(grant.remainingMs).toBe(23_000)
  await clock.advance(6_100)
  expect(grant.remainingMs).toBeGreaterThan(26_000)
  grant.throwIfLost()
  await grant.succeed()
  expect(grant).toMatchObject({ isHeld: false, remainingMs: 0 })
  expect(() => grant.throwIfLost()).toThrow(expect.objectContaining({ code: 'ended', resource: 'l' }))
})

test('every kind of context knows its state', async () => {
  const { baton } = newClientWorld().client({ node: 'a' })
  const states: boolean[] = []
  const look = (held: { isHeld: boolean; throwIfLost(): void }) => {
    held.throwIfLost()
    states.push(held.isHeld)
  }
  await baton.lock('r', look)
  await baton.once('r', look)
  await baton.run('update', 'r', look)
  await baton.lead('r', look)
  const held = await baton.lock('r')
  look(held)
  await held.release()
  expect(held.isHeld).toBe(false)
  expect(states).toEqual([true, true, true, true, true])
})

test('work without a grant does not claim to hold one', async () => {
  const { client, clock } = newClientWorld()
  const { baton, wire } = client({ node: 'a' })
  wire.goDown()
  const ran = baton.lock('r', ({ isHeld, throwIfLost, fence }) => [isHeld, throwIfLost(), fence], {
    whenUnavailable: 'run',
  })
  await clock.advance(6_000)
  expect(await ran).toEqual([false, undefined, 0])
})

test('by either clock, and in the same turn: nothing has to run for it', async () => {
  for (const which of ['monoMs', 'wallMs'] as const) {
    const { baton, skew } = newClientWorld().client({ node: 'a', ttlMs: 30_000 })
    const grant = await baton.acquire(...lock)
    skew[which] = 26_999
    expect(grant.remainingMs).toBe(1)
    skew[which] = 27_000
    expect(grant.isHeld).toBe(false)
    expect(() => grant.throwIfLost()).toThrow(GrantLostError)
    expect(grant.signal.aborted).toBe(true)
  }
})

test('a loss names its cause: the event loop was blocked', async () => {
  const { client, clock } = newClientWorld()
  const { baton, skew } = client({ node: 'a', ttlMs: 30_000 })
  const grant = await baton.acquire(...lock)
  await clock.advance(5_000)
  // Both clocks go on, and no timer has run.
  skew.monoMs = 40_000
  skew.wallMs = 40_000
  expect(outcome(() => grant.throwIfLost())).toMatchObject({
    code: 'grant-lost',
    cause: { kind: 'event-loop-blocked', forMs: 40_000 },
    message: 'lock l: lost the grant: the event loop was blocked for 40s, and the lease was not renewed in time',
    resource: 'l',
    operation: 'lock',
  })
})

test('a loss names its cause: a clock jumped', async () => {
  const { client, clock } = newClientWorld()
  const { baton, skew } = client({ node: 'a', ttlMs: 30_000 })
  const grant = await baton.acquire(...lock)
  await clock.advance(5_000)
  skew.wallMs = 60_000
  await clock.advance(1_000)
  expect(grant.signal.reason.cause).toEqual({ kind: 'clock-jumped', byMs: 60_000 })
})

test('a loss names its cause: no server has answered since then', async () => {
  const { client, clock } = newClientWorld()
  const { baton, wire } = client({ node: 'a', ttlMs: 30_000 })
  const grant = await baton.acquire(...lock)
  const since = new Date(clock.nowMs())
  await clock.advance(5_000)
  wire.goDown()
  await clock.advance(30_000)
  expect(grant.signal.reason.cause).toEqual({ kind: 'server-unreachable', since })
  expect(grant.signal.reason.message).toContain(since.toISOString())
})

test('a loss names its cause: an operator has revoked it', async () => {
  const world = newClientWorld()
  const { baton } = world.client({ node: 'a' })
  const grant = await baton.acquire(...lock)
  await world.clock.advance(1_500)
  await world.client({ node: 'o' }).baton.revoke(...lock)
  await settled()
  expect(grant.signal.reason.cause).toEqual({ kind: 'revoked', by: 'o' })
})

test('a loss names its cause: the server has ended the session', async () => {
  const { client, clock, service } = newClientWorld()
  const { baton, wire } = client({ node: 'a' })
  const grant = await baton.acquire(...lock)
  await service.call({ type: 'close-session', session: wire.of('open-session')[0].session })
  await clock.advance(11_000)
  expect(grant.signal.reason.cause).toEqual({ kind: 'session-ended' })
})

test('a loss names its cause: the client was closed', async () => {
  const { baton } = newClientWorld().client({ node: 'a' })
  const grant = await baton.acquire(...lock)
  await baton.close()
  expect(outcome(() => grant.throwIfLost())).toMatchObject({ cause: { kind: 'client-closed' } })
})

test('a callback that has blocked the event loop for too long has not succeeded', async () => {
  const { baton, skew } = newClientWorld().client({ node: 'a', ttlMs: 30_000 })
  const block = () => {
    skew.monoMs += 40_000
    skew.wallMs += 40_000
    return 'done'
  }
  const running: readonly Promise<unknown>[] = [baton.lock('l', block), baton.run('update', 'l', block)]
  for (const ran of running) {
    expect(await outcomeOf(ran)).toMatchObject({ cause: { kind: 'event-loop-blocked', forMs: 40_000 } })
  }
})

test('what a callback throws after the loss is beside the cause', async () => {
  const { client, clock } = newClientWorld()
  const { baton, wire } = client({ node: 'a', ttlMs: 5_000 })
  const stopped = new Error('stopped by the signal')
  const running = outcomeOf(
    baton.lock(
      'l',
      ({ signal }) => new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(stopped))),
    ),
  )
  await settled()
  wire.goDown()
  await clock.advance(5_000)
  expect(await running).toMatchObject({ cause: { kind: 'server-unreachable' }, callbackError: stopped })
})

function outcome(call: () => void): unknown {
  try {
    call()
  } catch (error) {
    return error
  }
}
