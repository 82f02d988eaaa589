import assert from 'node:assert/strict'
import { SHARED_HOLD } from '@baton-lock/core'
import { durableStep } from '../store.ts'
import { acquire, type Case, claim, failure, fenceOf, pass, release, success } from './case.ts'

const at = { namespace: 'default', resource: 'r' }

/** What is decided must be the core's decision, through every path of the store. */
export const deciding: readonly Case[] = [
  claim('steps of a resource that are taken in one turn are decided in their order', async (store) => {
    const ask = (node: string) =>
      ({ type: 'acquire', operation: 'lock', node, owner: node, hold: '1', ttlMs: 30_000 }) as const
    const taken = [
      store.step(at, ask('a')),
      store.step(at, ask('b')),
      store.step(at, { type: 'release', operation: 'lock', owner: 'a', hold: '1', outcome: 'success' }),
      store.step(at, ask('b')),
      store.step(at, ask('c')),
    ]
    const durable = store.durable()
    const statuses = (await Promise.all(taken)).map(({ status }) => status)
    await durable
    assert.deepEqual(statuses, ['granted', 'queued', 'released', 'granted', 'queued'])
  }),
  claim('of fifty concurrent asks exactly one is granted, and every other has a place of its own', async (store) => {
    const nodes = Array.from({ length: 50 }, (_, index) => `n${index}`)
    const replies = await Promise.all(nodes.map((node) => acquire(store, { node })))
    assert.equal(replies.filter((reply) => reply.status === 'granted').length, 1)
    const positions = replies.flatMap((reply) => (reply.status === 'queued' ? [reply.position] : []))
    assert.deepEqual(
      positions.sort((a, b) => a - b),
      Array.from({ length: 49 }, (_, index) => index + 1),
    )
  }),
  claim('waiters are granted in the order in which they came', async (store) => {
    const nodes = Array.from({ length: 20 }, (_, index) => `n${index}`)
    let fence = fenceOf(await acquire(store, { node: 'holder' }))
    for (const node of nodes) assert.equal((await acquire(store, { node })).status, 'queued')
    let holder = 'holder'
    for (const node of nodes) {
      assert.equal((await release(store, { node: holder, fence, ...failure })).status, 'released')
      const next = fenceOf(await acquire(store, { node }))
      assert.ok(next > fence, 'fences rise')
      fence = next
      holder = node
    }
  }),
  claim('a success is told to everyone who waited, and kept for those who come late', async (store) => {
    const fence = fenceOf(await acquire(store, { node: 'a' }))
    await acquire(store, { node: 'b' })
    await release(store, { node: 'a', fence, outcome: 'success', result: { bytes: 1 } })
    for (const node of ['b', 'late']) {
      const reply = await acquire(store, { node })
      assert.equal(reply.status, 'skip')
      assert.equal(reply.fence, fence)
      assert.deepEqual(reply.result, { bytes: 1 })
    }
    const view = await store.read({ namespace: 'default', resource: 'r' })
    assert.equal(view?.waiting, 0)
    assert.deepEqual([...(view?.references ?? [])].sort(), ['a', 'b', 'late'])
  }),
  claim('a classic client is told to skip for two seconds', async (store, { clock }) => {
    const ask = (node: string) => acquire(store, { node, operation: 'update', hold: SHARED_HOLD, classic: true })
    const statuses = [(await ask('a')).status, (await ask('b')).status]
    await release(store, { node: 'a', operation: 'update', hold: SHARED_HOLD, ...success })
    for (const waitMs of [9_000, 0, 1_900, 100]) {
      await pass(store, clock, waitMs)
      statuses.push((await ask('b')).status)
    }
    assert.deepEqual(statuses, ['granted', 'queued', 'skip', 'skip', 'skip', 'granted'])
  }),
  claim('a classic client that has lost its place learns so when it looks', async (store, { clock }) => {
    const ask = (node: string) => acquire(store, { node, operation: 'update', hold: SHARED_HOLD, classic: true })
    const look = () => store.standing({ ...at, operation: 'update', node: 'b', owner: 'b', hold: SHARED_HOLD })
    for (const node of ['a', 'b']) await ask(node)
    await release(store, { node: 'a', operation: 'update', hold: SHARED_HOLD, ...failure })
    await pass(store, clock, 50_000)
    assert.deepEqual(await look(), { status: 'refused', code: 'passed-over' })
    await pass(store, clock, 60_000)
    assert.deepEqual(await look(), { status: 'nothing' })
  }),
  claim('the same ask again gets the same grant', async (store) => {
    const fence = fenceOf(await acquire(store, { node: 'a' }))
    const again = await acquire(store, { node: 'a' })
    assert.equal(fenceOf(again), fence)
    assert.equal(again.status === 'granted' && again.holds, 1)
  }),
  claim('the same release again gets the same answer and changes nothing', async (store) => {
    const fence = fenceOf(await acquire(store, { node: 'a', operation: 'lock' }))
    const first = await release(store, { node: 'a', operation: 'lock', fence, ...success })
    const next = fenceOf(await acquire(store, { node: 'b', operation: 'lock' }))
    assert.deepEqual(await release(store, { node: 'a', operation: 'lock', fence, ...failure }), first)
    assert.equal(fenceOf(await acquire(store, { node: 'b', operation: 'lock' })), next)
  }),
  claim(
    'a release that was acknowledged is not remembered: the same one again is of an unknown grant',
    async (store) => {
      const ask = { node: 'a', operation: 'lock', hold: 'h' }
      const fence = fenceOf(await acquire(store, ask))
      await release(store, { ...ask, fence, ...success })
      const { node, ...named } = ask
      assert.deepEqual(await durableStep(store, at, { type: 'acknowledge', ...named, node, owner: node }), {
        status: 'done',
      })
      const again = await release(store, { ...ask, fence, ...success })
      assert.deepEqual(again, { status: 'refused', code: 'unknown-grant' })
      assert.ok(fenceOf(await acquire(store, ask)) > fence, 'and its hold id is free again')
    },
  ),
  claim('to acknowledge what has not ended, or what another node has ended, changes nothing', async (store) => {
    const [holder, waiter] = ['a', 'b'].map((node) => ({ node, operation: 'lock', hold: 'h' }))
    const acknowledge = (node: string, owner: string) =>
      durableStep(store, at, { type: 'acknowledge', operation: 'lock', node, owner, hold: 'h' })
    const fence = fenceOf(await acquire(store, holder!))
    await acquire(store, waiter!)
    for (const node of ['a', 'b']) await acknowledge(node, node)
    const view = await store.read(at)
    assert.deepEqual([view?.grants[0]?.fence, view?.waiting], [fence, 1])
    const released = await release(store, { ...holder!, fence, ...success })
    await acknowledge('b', 'a')
    assert.deepEqual(await release(store, { ...holder!, fence, ...success }), released)
    assert.ok(fenceOf(await acquire(store, waiter!)) > fence)
  }),
  claim('a stale holder cannot release after a take-over', async (store, { clock }) => {
    const stale = fenceOf(await acquire(store, { node: 'a', ttlMs: 1_000 }))
    await acquire(store, { node: 'b' })
    await pass(store, clock, 1_000)
    const fence = fenceOf(await acquire(store, { node: 'b' }))
    assert.equal((await release(store, { node: 'a', fence: stale, ...success })).status, 'refused')
    assert.equal((await release(store, { node: 'a', fence, ...success })).status, 'refused')
    assert.equal(fenceOf(await acquire(store, { node: 'b' })), fence)
  }),
  claim('a late step applies what was due before it', async (store, { clock }) => {
    await acquire(store, { node: 'a', ttlMs: 1_000 })
    clock.jump(1_000)
    assert.equal((await acquire(store, { node: 'b' })).status, 'granted')
  }),
  claim('a grant that nobody claims passes on', async (store, { clock }) => {
    const fence = fenceOf(await acquire(store, { node: 'a' }))
    await acquire(store, { node: 'b' })
    await acquire(store, { node: 'c' })
    await release(store, { node: 'a', fence, ...failure })
    await pass(store, clock, 5_000)
    const late = await acquire(store, { node: 'b' })
    assert.deepEqual(late, { status: 'refused', code: 'passed-over' })
    assert.equal((await acquire(store, { node: 'c' })).status, 'granted')
  }),
  claim(
    'under exclusion: resource there is one holder, and after a success the longest-waiting head goes first',
    async (store) => {
      const fence = fenceOf(await acquire(store, { node: 'a', operation: 'pull' }))
      await acquire(store, { node: 'b', operation: 'update' })
      await acquire(store, { node: 'c', operation: 'lock' })
      await release(store, { node: 'a', operation: 'pull', fence, ...success })
      assert.equal((await acquire(store, { node: 'b', operation: 'update' })).status, 'granted')
      assert.equal((await acquire(store, { node: 'c', operation: 'lock' })).status, 'queued')
    },
    { exclusion: 'resource' },
  ),
  claim('who asks is a node and an owner, in line, in a grant and in what is remembered', async (store) => {
    const own = { operation: 'update', hold: '-' }
    const fence = fenceOf(await acquire(store, { ...own, node: 'a', owner: 'x' }))
    assert.equal((await acquire(store, { ...own, node: 'b', owner: 'x' })).status, 'queued')
    assert.equal((await acquire(store, { ...own, node: 'c', owner: 'x' })).status, 'queued')
    const release = { type: 'release', ...own, owner: 'x', fence, outcome: 'success' } as const
    const refusal = { status: 'refused', code: 'forbidden' }
    assert.deepEqual(await durableStep(store, at, release, { actsFor: ['z'] }), refusal)
    assert.deepEqual(await durableStep(store, at, { ...release, node: 'a' }, { actsFor: ['b'] }), refusal)
    assert.deepEqual(await durableStep(store, at, release, { actsFor: ['b'] }), {
      status: 'refused',
      code: 'not-holder',
    })
    assert.equal((await durableStep(store, at, release, { actsFor: ['a'] })).status, 'released')
    // Told apart, though they share all but the node; each is given once.
    for (const node of ['c', 'b']) assert.equal((await acquire(store, { ...own, node, owner: 'x' })).status, 'skip')
    assert.equal((await acquire(store, { ...own, node: 'b', owner: 'x' })).status, 'granted')
  }),
  claim(
    'nobody stands in line where there is no room, and who does not wait is told that it is busy',
    async (store) => {
      await acquire(store, { node: 'a' })
      const command = { type: 'acquire', operation: 'pull', node: 'b', owner: 'b', hold: '1', ttlMs: 30_000 } as const
      const full = await durableStep(store, at, command, { mayQueue: false })
      assert.deepEqual(full, { status: 'refused', code: 'queue-full' })
      const busy = await durableStep(store, at, { ...command, queueing: false }, { mayQueue: false })
      assert.deepEqual(busy, { status: 'refused', code: 'busy' })
      assert.equal((await store.read(at))?.waiting, 0)
    },
  ),
  claim('all who wait are listed, a page at a time, over all queues', async (store) => {
    for (const operation of ['lock', 'update']) {
      for (const node of ['holder', 'a', 'b', 'c']) await acquire(store, { node, operation })
    }
    const seen: string[] = []
    let after: number | undefined
    do {
      const page = await store.waiters(at, { limit: 4, ...(after !== undefined && { after }) })
      seen.push(...page.waiters.map(({ operation, node }) => `${operation} ${node}`))
      after = page.next
    } while (after !== undefined)
    assert.deepEqual(seen, ['lock a', 'lock b', 'lock c', 'update a', 'update b', 'update c'])
    assert.deepEqual(await store.waiters({ ...at, resource: 'idle' }, { limit: 4 }), { waiters: [] })
  }),
  claim('resources, operations and namespaces never mix, whatever their names', async (store) => {
    const names = [
      ['pull', 'a:b'],
      ['update', 'a:b'],
      ['pull', 'A:B'],
      ['pull', 'a:b '],
      ['pull', ' a:b'],
      ['pull', 'ä:b'],
      ['pull', 'a\u0308:b'],
      ['pull', '🎽'.repeat(128)],
      ['pull', `${'🎽'.repeat(127)}🏃`],
      ['pull', '%'],
      ['pull', '_'],
      ['pull', "a'b\\"],
      ['pull', '__proto__'],
      ['pull', 'a/../b'],
    ] as const
    for (const [operation, resource] of names) {
      const reply = await acquire(store, { node: 'a', operation, resource })
      assert.equal(reply.status, 'granted', `${operation} of ${resource}`)
      assert.equal((await acquire(store, { node: 'b', operation, resource })).status, 'queued')
    }
    const command = { type: 'acquire', operation: 'pull', node: 'b', owner: 'b', hold: '1', ttlMs: 30_000 } as const
    assert.equal((await durableStep(store, { namespace: 'other', resource: 'a:b' }, command)).status, 'granted')
    assert.equal((await durableStep(store, { namespace: 'OTHER', resource: 'a:b' }, command)).status, 'granted')
  }),
]
