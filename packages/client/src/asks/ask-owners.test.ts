import { settled } from '@baton-lock/store/conformance'
import { newClientWorld, outcomeOf } from '@baton-lock/test-support/client-world'
import { expect, test } from 'vitest'

const lock = ['lock', 'l'] as const

test('an owner that is passed enters its grant again, and only the last release frees it', async () => {
  const { client } = newClientWorld()
  const [a, b] = [client({ node: 'a' }), client({ node: 'b' })]
  const outer = await a.baton.acquire(...lock)
  const inner = await a.baton.acquire(...lock, { owner: outer })
  expect([inner.fence, inner.owner]).toEqual([outer.fence, outer.owner])
  const waiting = b.baton.acquire(...lock)
  await settled()
  await inner.succeed()
  expect((await a.baton.status('l')).grants).toMatchObject([{ node: 'a', holds: 1 }])
  expect(outer.signal.aborted).toBe(false)
  await outer.succeed()
  expect((await waiting).fence).toBe(2)
})

test('a grant that is passed on for re-entry carries its node along', async () => {
  const { client } = newClientWorld()
  const [a, b] = [client({ node: 'a' }), client({ node: 'b' })]
  const outer = await a.baton.acquire(...lock)
  const inner = await b.baton.acquire(...lock, { owner: outer })
  expect([inner.node, inner.owner, inner.fence]).toEqual(['a', outer.owner, outer.fence])
  // The owner alone is that of another node.
  expect(await outcomeOf(b.baton.acquire(...lock, { owner: outer.owner, queueing: false }))).toMatchObject({
    code: 'busy',
  })
  await inner.succeed()
  await outer.succeed()
})

test('an owner that waits already does not wait a second time where it was told not to', async () => {
  const { client } = newClientWorld()
  const [a, b] = [client({ node: 'a' }), client({ node: 'b' })]
  const held = await a.baton.acquire(...lock)
  const waiting = b.baton.acquire(...lock, { owner: 'actor' })
  await settled()
  expect(await outcomeOf(b.baton.acquire(...lock, { owner: 'actor', waitMs: 0 }))).toMatchObject({ code: 'busy' })
  await held.succeed()
  expect((await waiting).fence).toBe(2)
})

test('two asks of one owner wait in one place, and both enter', async () => {
  const { client } = newClientWorld()
  const [a, b] = [client({ node: 'a' }), client({ node: 'b' })]
  const held = await a.baton.acquire(...lock)
  const both = [b.baton.acquire(...lock, { owner: 'actor' }), b.baton.acquire(...lock, { owner: 'actor' })]
  await settled()
  expect((await a.baton.status('l')).waiting).toBe(1)
  await held.succeed()
  const [first, second] = await Promise.all(both)
  expect([first?.fence, second?.fence]).toEqual([2, 2])
  await first?.succeed()
  await second?.succeed()
  expect((await a.baton.status('l')).grants).toEqual([])
})

test('what an earlier ask of an owner was told is not taken for the answer to a later one', async () => {
  const { client, clock } = newClientWorld()
  const [a, b] = [client({ node: 'a' }), client({ node: 'b' })]
  const first = await a.baton.acquire('pull', 'p', { revision: '1' })
  const stop = new AbortController()
  const early = outcomeOf(b.baton.acquire('pull', 'p', { revision: '1', owner: 'actor', signal: stop.signal }))
  await settled()
  b.wire.eventsAfterMs = 500
  await first.succeed('of revision 1')
  stop.abort()
  expect(await early).toBe(stop.signal.reason)
  const second = await a.baton.acquire('pull', 'p', { revision: '2', force: true })
  const late = outcomeOf(b.baton.acquire('pull', 'p', { revision: '2', owner: 'actor' }))
  await clock.advance(1_000)
  await second.succeed('of revision 2')
  await clock.advance(1_000)
  expect(await late).toMatchObject({ code: 'skipped', result: 'of revision 2' })
})

test('two asks of one client exclude one another unless they share an owner', async () => {
  const { client } = newClientWorld()
  const { baton } = client({ node: 'a' })
  await baton.acquire(...lock)
  expect(await outcomeOf(baton.acquire(...lock, { queueing: false }))).toMatchObject({ code: 'busy' })
})

test('a reference that the node adds while its delete waits is not dropped by asking again', async () => {
  const { client, clock } = newClientWorld()
  const [a, b] = [client({ node: 'a' }), client({ node: 'b' })]
  const held = await a.baton.acquire('delete', 'd')
  const waiting = outcomeOf(b.baton.acquire('delete', 'd'))
  await settled()
  await b.baton.run('pull', 'd', () => {})
  await clock.advance(60_000)
  await held.fail('no')
  expect(await waiting).toMatchObject({ code: 'in-use' })
  expect(await b.baton.references.list('d')).toEqual(['b'])
})
