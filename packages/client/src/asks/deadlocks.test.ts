import { settled } from '@baton-lock/store/conformance'
import { newClientWorld, outcomeOf } from '@baton-lock/test-support/client-world'
import { expect, test } from 'vitest'
import type { Baton } from '../api.ts'
import { DeadlockError } from '../errors.ts'

const nested = {
  lock: (baton: Baton, inner: () => Promise<unknown>) => baton.lock('ledger', inner),
  once: (baton: Baton, inner: () => Promise<unknown>) => baton.once('ledger', inner),
  update: (baton: Baton, inner: () => Promise<unknown>) => baton.run('update', 'ledger', inner),
  lead: (baton: Baton, inner: () => Promise<unknown>) => baton.lead('ledger', inner),
} as const

test.each(Object.keys(nested) as (keyof typeof nested)[])(
  'throw: %s inside the callback of the same key is an error at once, which has both stacks',
  async (operation) => {
    const { baton, notices } = newClientWorld().client({ node: 'a', deadlock: 'throw' })
    const outer = async () => await nested[operation](baton, inner)
    const inner = async () => {
      await settled()
      await baton.lock('another', nestedAgain)
    }
    const nestedAgain = async () => await nested[operation](baton, async () => {})
    const error = await outcomeOf(outer())
    expect(error).toBeInstanceOf(DeadlockError)
    expect(error).toMatchObject({
      code: 'deadlock',
      message: expect.stringContaining(`${operation} ledger: requested inside the callback that holds it (fence 1)`),
      resource: 'ledger',
    })
    expect(((error as Error).cause as Error).stack).toMatch(/outer .*deadlocks\.test\.ts/)
    expect((error as Error).stack).toMatch(/nestedAgain .*deadlocks\.test\.ts/)
    expect(notices).toEqual([])
  },
)

test('notice: it is one at once, and the call waits', async () => {
  const { client, clock } = newClientWorld()
  const { baton, notices } = client({ node: 'a', deadlock: 'notice' })
  const inner = async () => await baton.lock('ledger', () => {}, { waitMs: 5_000 })
  const waiting = outcomeOf((async () => await baton.lock('ledger', inner))())
  await settled()
  expect(notices).toHaveLength(1)
  expect(notices[0]).toMatch(/^lock ledger: requested inside .*\. Waits: .*inner .*test\.ts.*\. Holds: .*test\.ts/)
  await clock.advance(5_000)
  expect(await waiting).toMatchObject({ code: 'wait-over', holder: 'a' })
})

test('what is no deadlock is none: another key, another namespace, entering again, a try, a lock that was released', async () => {
  const { client } = newClientWorld()
  const { baton, notices } = client({ node: 'a', deadlock: 'throw' })
  const other = client({ node: 'a', deadlock: 'throw' }).baton
  const seen = await baton.lock('ledger', async (lock) => [
    await baton.lock('other', () => 'other key'),
    await baton.lock('ledger', () => 'other namespace', { namespace: 'else' }),
    await baton.once('ledger', () => 'other operation').then(({ result }) => result),
    await baton.lock('ledger', () => 'entered again', { owner: lock }),
    await baton.tryLock('ledger'),
    await outcomeOf(other.lock('ledger', { waitMs: 0 })).then((error) => (error as DeadlockError).code),
  ])
  expect(seen).toEqual(['other key', 'other namespace', 'other operation', 'entered again', null, 'busy'])
  let later = Promise.resolve('')
  await baton.lock('ledger', () => {
    // Runs in the same context, but when the lock is free again.
    later = settled().then(() => baton.lock('ledger', () => 'later'))
  })
  expect(await later).toBe('later')
  expect(notices).toEqual([])
})

test('by default, whoever has waited for a ttl for a lock of its own client is a notice', async () => {
  const { client, clock } = newClientWorld()
  const { baton, notices } = client({ node: 'a', ttlMs: 10_000 })
  const forgotten = await baton.lock('ledger')
  const book = async () => await baton.lock('ledger', () => 'booked')
  const waiting = book()
  await clock.advance(4_900)
  expect(notices).toEqual([])
  await clock.advance(5_200)
  expect(notices).toHaveLength(1)
  expect(notices[0]).toMatch(
    /^lock ledger: has waited [\d.]+s for a lock that this client holds itself \(fence 1\); if the holder waits for this call, it is a deadlock: .*Waits: .*book .*deadlocks\.test\.ts.* Holds: not recorded/,
  )
  await clock.advance(60_000)
  expect(notices).toHaveLength(1)
  await forgotten.release()
  expect(await waiting).toBe('booked')
  // Since then the stacks of holders are recorded, too.
  const again = (async function holdAgain() {
    return await baton.lock('ledger')
  })()
  const held = await again
  const second = book()
  await clock.advance(10_100)
  expect(notices[1]).toMatch(/Holds: .*holdAgain .*deadlocks\.test\.ts/)
  await held.release()
  await second
})

test('who waits for another client is no notice, however long that takes', async () => {
  const world = newClientWorld()
  const [a, b] = [world.client({ node: 'a' }), world.client({ node: 'b' })]
  const held = await a.baton.lock('ledger')
  const waiting = b.baton.lock('ledger')
  await world.clock.advance(300_000)
  expect(b.notices).toEqual([])
  await held.release()
  await waiting
})
