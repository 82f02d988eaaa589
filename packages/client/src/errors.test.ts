import { inspect } from 'node:util'
import { settled } from '@baton-lock/store/conformance'
import { newClientWorld, outcomeOf } from '@baton-lock/test-support/client-world'
import { expect, test } from 'vitest'
import { BatonError } from './errors.ts'

/** A ledger that node-b has held for 12 s, and a client of node-a. */
async function heldLedger(namespace = 'default') {
  const world = newClientWorld()
  const [a, b] = [world.client({ node: 'node-a', namespace }), world.client({ node: 'node-b', namespace })]
  const held = await b.baton.lock('ledger')
  await world.clock.advance(12_000)
  return { ...world, a, b, held }
}

test('a wait that is over names the lock, its holder, and the place in line', async () => {
  const { a, b, clock } = await heldLedger()
  const first = outcomeOf(b.baton.lock('ledger'))
  await settled()
  const second = outcomeOf(a.baton.lock('ledger', { waitMs: 500 }))
  await clock.advance(1_000)
  expect(await second).toMatchObject({
    name: 'RefusedError',
    code: 'wait-over',
    message: 'lock ledger: still held by node-b (13s) after waiting 500ms; 2nd in line',
    namespace: 'default',
    operation: 'lock',
    resource: 'ledger',
    holder: 'node-b',
    heldForMs: 12_500,
    position: 2,
  })
  await b.baton.close()
  await first
})

test('a call that does not wait names the holder too, and another namespace than the default', async () => {
  const { a } = await heldLedger('team')
  expect(await outcomeOf(a.baton.lock('ledger', { waitMs: 0 }))).toMatchObject({
    code: 'busy',
    message: 'lock ledger (namespace team): held by node-b (12s), and this request does not wait',
    namespace: 'team',
    holder: 'node-b',
    heldForMs: 12_000,
  })
})

test('what only tries does not look for the holder', async () => {
  const { a } = await heldLedger()
  expect(await a.baton.tryAcquire('lock', 'ledger')).toBeNull()
  expect(a.wire.of('get-resource')).toEqual([])
})

test('a wait that is over while no server answers says so, whether or not it was in the queue', async () => {
  const { a, clock } = await heldLedger()
  const queued = outcomeOf(a.baton.lock('ledger', { waitMs: 3_000 }))
  await settled()
  a.wire.goDown()
  const late = outcomeOf(a.baton.lock('ledger', { waitMs: 3_000 }))
  await clock.advance(6_000)
  expect(await queued).toMatchObject({
    code: 'unavailable',
    message: 'lock ledger: nobody is there; gave up after waiting 3.0s; next in line',
    position: 1,
  })
  expect(await late).toMatchObject({
    code: 'unavailable',
    message: 'lock ledger: nobody is there; gave up after waiting 3.0s',
    resource: 'ledger',
  })
})

test('a wait that its signal ends rejects with the reason itself if that is an error, as the Web Locks API does', async () => {
  const { a } = await heldLedger()
  const enough = new Error('enough')
  const reasons = [enough, undefined, 'a text'] as const
  const [own, standard, text] = await Promise.all(
    reasons.map(async (reason) => {
      const stop = new AbortController()
      const waiting = outcomeOf(a.baton.lock('ledger', { signal: stop.signal }))
      await settled()
      stop.abort(reason)
      return waiting
    }),
  )
  expect(own).toBe(enough)
  expect(standard).toMatchObject({ name: 'AbortError' })
  expect(text).toBeInstanceOf(BatonError)
  expect(text).toMatchObject({ code: 'aborted', cause: 'a text', resource: 'ledger' })
})

test('a standby that is stopped by its signal with a reason of its own ends in peace', async () => {
  const { client } = newClientWorld()
  const [a, b] = [client({ node: 'a' }), client({ node: 'b' })]
  const stop = new AbortController()
  const leading = a.baton.lead(
    'boss',
    ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve)),
    {
      signal: stop.signal,
    },
  )
  await settled()
  const standby = b.baton.lead('boss', () => 'leads', { signal: stop.signal })
  await settled()
  stop.abort(new Error('shutdown'))
  expect(await standby).toBeUndefined()
  await leading
})

test('work that failed for good, or was done already, names what it was', async () => {
  const world = newClientWorld()
  const [a, b] = [world.client({ node: 'a' }), world.client({ node: 'b' })]
  const grant = await a.baton.acquire('pull', 'p')
  const waiting = outcomeOf(b.baton.run('pull', 'p', () => {}))
  await settled()
  await grant.fail('404', { permanent: true })
  expect(await waiting).toMatchObject({ message: 'pull p: a failed for good: 404', operation: 'pull', resource: 'p' })
  await a.baton.run('pull', 'q', () => {})
  expect(await outcomeOf(b.baton.acquire('pull', 'q'))).toMatchObject({ message: 'pull q: done already by a' })
})

test('refusals and missing answers of all other calls name the resource', async () => {
  const { client, clock } = newClientWorld()
  const { baton, wire } = client({ node: 'a' })
  expect(await outcomeOf(baton.revoke('lock', 'ledger'))).toMatchObject({
    message: 'lock ledger: Nothing is held there; the grant has ended or never was.',
    operation: 'lock',
    resource: 'ledger',
  })
  wire.goDown()
  const missing = outcomeOf(baton.status('ledger'))
  await clock.advance(6_000)
  expect(await missing).toMatchObject({ message: 'ledger: nobody is there', resource: 'ledger', code: 'unavailable' })
})

test('the stack of an error leads to the line of its caller', async () => {
  const { a, clock } = await heldLedger()
  const calls: Readonly<Record<string, () => Promise<unknown>>> = {
    'wait-over': async () => await a.baton.lock('ledger', { waitMs: 500 }),
    busy: async () => await a.baton.lock('ledger', () => {}, { waitMs: 0 }),
    'not queueing': async () => await a.baton.acquire('lock', 'ledger', { queueing: false }),
    'unknown operation': async () => await a.baton.run('no-such-operation', 'ledger', () => {}),
    argument: async () => await a.baton.lead('ledger', () => {}, { namespace: '' }),
    refused: async () => await a.baton.revoke('pull', 'ledger'),
    unavailable: async () => await a.baton.status('ledger'),
    'nobody waits': async () => await a.baton.once('other', () => {}, { waitMs: 300 }),
  }
  for (const [name, call] of Object.entries(calls)) {
    if (name === 'unavailable') a.wire.goDown()
    const caught = (async function callerOfBaton() {
      try {
        await call()
      } catch (error) {
        return error
      }
    })()
    await clock.advance(6_000)
    const error = await caught
    expect.soft(error, name).toHaveProperty('code')
    expect.soft((error as Error).stack, name).toMatch(/callerOfBaton .*errors\.test\.ts/)
  }
})

test('a lock shows what it is of, its fence, and its state', async () => {
  const { client, clock } = newClientWorld()
  const { baton, wire } = client({ node: 'a', ttlMs: 30_000 })
  const lock = await baton.lock('ledger')
  expect(inspect(lock)).toBe("Lock { resource: 'ledger', fence: 1, state: 'held' }")
  await lock.release()
  expect(inspect(lock)).toBe("Lock { resource: 'ledger', fence: 1, state: 'ended' }")
  const grant = await baton.acquire('update', 'ledger')
  expect(inspect(grant)).toBe("Grant { operation: 'update', resource: 'ledger', fence: 2, state: 'held' }")
  wire.goDown()
  await clock.advance(30_000)
  expect(inspect(grant)).toMatch(/state: 'lost: no server has renewed the lease since /)
})
