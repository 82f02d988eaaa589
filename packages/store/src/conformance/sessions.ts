import assert from 'node:assert/strict'
import type { ResourceView } from '@baton-lock/core'
import { durableStep } from '../store.ts'
import { acquire, type Case, claim, failure, fenceOf, pass, release, success } from './case.ts'
import { becomes } from './eventually.ts'

const at = { namespace: 'default', resource: 'r' }

/** A session keeps all of its places alive, and takes them all with it. */
export const sessions: readonly Case[] = [
  claim('a session lives until its last renewal plus its ttl, and no renewal revives it', async (store, { clock }) => {
    await store.openSession({ session: 's', node: 'a', ttlMs: 10_000 })
    await pass(store, clock, 9_999)
    assert.equal((await store.renewSession('s')).status, 'alive')
    await pass(store, clock, 9_999)
    assert.notEqual(await store.places('s'), undefined)
    await pass(store, clock, 1)
    assert.deepEqual(await store.renewSession('s'), { status: 'refused', code: 'session-lost' })
    assert.equal(await store.places('s'), undefined)
  }),
  claim('opening a session again renews it', async (store, { clock }) => {
    const session = { session: 's', node: 'a', ttlMs: 10_000 }
    await store.openSession(session)
    await pass(store, clock, 9_000)
    await store.openSession(session)
    await pass(store, clock, 9_000)
    assert.equal((await store.renewSession('s')).status, 'alive')
  }),
  claim('a session that ends takes its grants and its places in line with it', async (store, { clock }) => {
    await store.openSession({ session: 's', node: 'a', ttlMs: 10_000 })
    await acquire(store, { node: 'other', resource: 'q', ttlMs: 60_000 })
    await acquire(store, { node: 'a', session: 's' })
    await acquire(store, { node: 'a', session: 's', resource: 'q' })
    await acquire(store, { node: 'b', ttlMs: 60_000 })
    assert.equal((await store.places('s'))?.length, 2)
    await pass(store, clock, 10_000)
    assert.equal((await acquire(store, { node: 'b', ttlMs: 60_000 })).status, 'granted')
    assert.equal((await store.read({ namespace: 'default', resource: 'q' }))?.waiting, 0)
  }),
  claim('a closed session is gone at once; closing it again changes nothing', async (store) => {
    await store.openSession({ session: 's', node: 'a', ttlMs: 10_000 })
    await acquire(store, { node: 'a', session: 's' })
    await acquire(store, { node: 'b' })
    await store.closeSession('s')
    await store.closeSession('s')
    assert.equal((await acquire(store, { node: 'b' })).status, 'granted')
    assert.equal((await store.renewSession('s')).status, 'refused')
  }),
  claim('who waits for whom is known by session', async (store) => {
    for (const node of ['a', 'b']) await store.openSession({ session: `s-${node}`, node, ttlMs: 60_000 })
    const fence = fenceOf(await acquire(store, { node: 'a', session: 's-a' }))
    await acquire(store, { node: 'b', session: 's-b' })
    await acquire(store, { node: 'b', session: 's-b', resource: 'q' })
    const holder = { operation: 'pull', node: 'a', owner: 'a', fence, sessions: ['s-a'] }
    const places = ['a', 'b'].map((node) => ({ operation: 'pull', node, owner: node }))
    const untimed = (value: unknown) =>
      JSON.parse(JSON.stringify(value, (key, each) => (key === 'sinceMs' ? undefined : each)))
    assert.deepEqual(untimed(await store.contention(at)), { holders: [holder], blocked: [] })
    assert.deepEqual(untimed(await store.contention(at, { session: 's-b', places })), {
      holders: [holder],
      blocked: [{ ...places[1], by: [holder] }],
    })
    assert.deepEqual(untimed(await store.contention(at, { session: 's-a', places })).blocked, [])
    assert.deepEqual(await store.contention({ ...at, resource: 'nothing' }), { holders: [], blocked: [] })
    assert.equal((await store.places('s-b', 1))?.length, 1)
    assert.equal((await store.places('s-b', 5))?.length, 2)
    assert.equal(await store.places('nobody', 1), undefined)
  }),
  claim('nothing is granted to the waiters of a session that ends with its grant', async (store, { clock }) => {
    const granted: string[] = []
    store.subscribe(({ event }) => {
      if (event.type === 'granted') granted.push(event.owner)
    })
    await store.openSession({ session: 's', node: 'a', ttlMs: 5_000 })
    await acquire(store, { node: 'a', session: 's' })
    for (const owner of ['1', '2', '3', '4', '5', '6']) await acquire(store, { node: 'a', owner, session: 's' })
    await acquire(store, { node: 'b', ttlMs: 60_000 })
    await pass(store, clock, 5_000)
    assert.equal((await acquire(store, { node: 'b', ttlMs: 60_000 })).status, 'granted')
    await becomes(() => granted.length === 2)
    assert.deepEqual(granted, ['a', 'b'])
    assert.equal((await store.read(at))?.waiting, 0)
  }),
  claim('an ask under a session that is not alive is refused and changes nothing', async (store, { clock }) => {
    await durableStep(store, at, { type: 'add-reference', node: 'a' })
    const refusal = { status: 'refused', code: 'session-lost' }
    assert.deepEqual(await acquire(store, { node: 'a', session: 'never', dropReference: true }), refusal)
    await store.openSession({ session: 's', node: 'a', ttlMs: 10_000 })
    clock.jump(10_000)
    assert.deepEqual(await acquire(store, { node: 'a', session: 's', dropReference: true }), refusal)
    const view = await store.read(at)
    assert.deepEqual(view?.references, ['a'])
    assert.deepEqual(view?.grants, [])
  }),
  claim('a session knows only the places that it still has', async (store) => {
    await store.openSession({ session: 's', node: 'a', ttlMs: 10_000 })
    for (const hold of ['1', '2', '3']) {
      const fence = fenceOf(await acquire(store, { node: 'a', operation: 'lock', session: 's', hold }))
      assert.equal((await store.places('s'))?.length, 1)
      await release(store, { node: 'a', operation: 'lock', hold, fence, ...success })
      assert.deepEqual(await store.places('s'), [])
    }
  }),
  claim('a grant that went to a waiter hangs off its session, claimed or not', async (store, { clock }) => {
    await store.openSession({ session: 's', node: 'b', ttlMs: 2_000 })
    const fence = fenceOf(await acquire(store, { node: 'a' }))
    await acquire(store, { node: 'b', session: 's' })
    await acquire(store, { node: 'c' })
    await release(store, { node: 'a', fence, ...failure })
    assert.equal((await store.places('s'))?.length, 1)
    await pass(store, clock, 2_000)
    assert.equal((await acquire(store, { node: 'c' })).status, 'granted')
  }),
  claim('a view says until when a grant lives, and when it was last renewed', async (store, { clock }) => {
    const openedMs = clock.nowMs()
    await store.openSession({ session: 's', node: 'a', ttlMs: 10_000 })
    await acquire(store, { node: 'a', session: 's', ttlMs: 99_000 })
    await acquire(store, { node: 'b', resource: 'q', ttlMs: 20_000 })
    await pass(store, clock, 4_000)
    await store.renewSession('s')
    const leaseOf = (view: ResourceView | undefined) => {
      const { renewedAtMs = 0, expiresAtMs = 0 } = view?.grants[0] ?? {}
      return [renewedAtMs - openedMs, expiresAtMs - openedMs]
    }
    assert.deepEqual(leaseOf(await store.read(at)), [4_000, 14_000])
    const { resources } = await store.list({ limit: 10 })
    const listed = (name: string) => leaseOf(resources.find(({ resource }) => resource === name))
    assert.deepEqual(
      [listed('r'), listed('q')],
      [
        [4_000, 14_000],
        [0, 20_000],
      ],
    )
  }),
  claim('one hold of two sessions goes with its own', async (store, { clock }) => {
    await store.openSession({ session: 'short', node: 'a', ttlMs: 2_000 })
    await store.openSession({ session: 'long', node: 'a', ttlMs: 5_000 })
    const fence = fenceOf(await acquire(store, { node: 'a', session: 'short', hold: '1' }))
    assert.equal(fenceOf(await acquire(store, { node: 'a', session: 'long', hold: '2' })), fence)
    await pass(store, clock, 2_000)
    assert.equal((await store.read(at))?.grants[0]?.holds, 1)
    await pass(store, clock, 3_000)
    assert.deepEqual((await store.read(at))?.grants, [])
  }),
]
