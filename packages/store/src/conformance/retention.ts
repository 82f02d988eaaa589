import assert from 'node:assert/strict'
import { builtInOperations, defaultNamespacePolicy, defaultPolicy, type Skip } from '@baton-lock/core'
import { durableStep } from '../store.ts'
import { acquire, type Case, claim, failure, fenceOf, pass, release, SPAN, success } from './case.ts'
import { becomes } from './eventually.ts'

/** The largest that a server can be set to. */
const LARGEST_RESULT_BYTES = 256 * 1024

/** What is kept, for how long, and what is forgotten. */
export const keeping: readonly Case[] = [
  claim('an idle resource is forgotten, but fences rise through it', async (store, { clock }) => {
    let last = 0
    for (let round = 0; round < 3; round++) {
      const fence = fenceOf(await acquire(store, { node: 'a', operation: 'lock', hold: `${round}` }))
      assert.ok(fence > last, `${fence} after ${last}`)
      last = fence
      await release(store, { node: 'a', operation: 'lock', hold: `${round}`, fence, ...success })
      await pass(store, clock, 120_000)
      assert.equal(await store.read({ namespace: 'default', resource: 'r' }), undefined)
      assert.equal((await store.counts()).resources, 0)
    }
  }),
  claim('a kept success ends with its time', async (store, { clock }) => {
    const fence = fenceOf(await acquire(store, { node: 'a', reference: false }))
    await release(store, { node: 'a', fence, ...success })
    await pass(store, clock, 3_599_000)
    assert.equal((await acquire(store, { node: 'b', reference: false })).status, 'skip')
    await pass(store, clock, 1_000)
    assert.equal((await acquire(store, { node: 'b', reference: false })).status, 'granted')
  }),
  claim('a success is good for as long as its report says, and can be forgotten', async (store, { clock }) => {
    const at = { namespace: 'default', resource: 'r' }
    const once = (node: string) => acquire(store, { node, operation: 'once', hold: node })
    const fence = fenceOf(await once('a'))
    const told = { ...success, resultOmitted: true, keepMs: 5_000 } as const
    await release(store, { node: 'a', operation: 'once', hold: 'a', fence, ...told })
    const skip = await once('b')
    assert.ok(skip.status === 'skip' && skip.resultOmitted === true && skip.by === 'a', JSON.stringify(skip))
    await pass(store, clock, 4_999)
    assert.equal((await once('c')).status, 'skip')
    assert.deepEqual(await durableStep(store, at, { type: 'forget', operation: 'once' }), {
      status: 'forgotten',
      kept: true,
      references: 0,
    })
    const again = fenceOf(await once('d'))
    await release(store, { node: 'd', operation: 'once', hold: 'd', fence: again, ...success, keepMs: 5_000 })
    await pass(store, clock, 5_000)
    assert.equal((await once('e')).status, 'granted')
  }),
  claim('the span of the work is told to those who waited, to who comes later, and to the next try', async (store) => {
    const once = (node: string) => acquire(store, { node, operation: 'once', hold: node })
    const told: unknown[] = []
    store.subscribe(({ event }) => event.type === 'told' && told.push(event.answer))
    const failing = fenceOf(await once('a'))
    for (const node of ['b', 'c']) assert.equal((await once(node)).status, 'queued')
    await release(store, { node: 'a', operation: 'once', hold: 'a', fence: failing, ...failure, traceparent: SPAN })
    const retry = await once('b')
    assert.deepEqual(retry.status === 'granted' && retry.previous, {
      node: 'a',
      outcome: 'failure',
      error: 'boom',
      traceparent: SPAN,
    })
    const done = { ...success, keepMs: 5_000, traceparent: SPAN.replace('00f0', '11f0') }
    await release(store, { node: 'b', operation: 'once', hold: 'b', fence: fenceOf(retry), ...done })
    await becomes(() => told.length === 1)
    for (const answer of [told[0], await once('c'), await once('late')])
      assert.equal((answer as Skip).traceparent, done.traceparent, JSON.stringify(answer))
    const view = await store.read({ namespace: 'default', resource: 'r' })
    assert.equal(view?.kept[0]?.traceparent, done.traceparent)
  }),
  claim(
    'the pause before a hand-over lasts as long as it should, whatever is asked meanwhile',
    async (store, { clock }) => {
      const fence = fenceOf(await acquire(store, { node: 'a', operation: 'lock' }))
      await acquire(store, { node: 'b', operation: 'lock' })
      await release(store, { node: 'a', operation: 'lock', fence, ...failure })
      await pass(store, clock, 500)
      assert.equal((await acquire(store, { node: 'c', operation: 'lock' })).status, 'queued')
      assert.equal((await acquire(store, { node: 'b', operation: 'lock' })).status, 'queued')
      await pass(store, clock, 1_000)
      assert.equal((await acquire(store, { node: 'b', operation: 'lock' })).status, 'granted')
    },
    { operations: { ...builtInOperations, lock: { ...builtInOperations.lock!, retryDelayMs: 1_000 } } },
  ),
  claim('references are a set of nodes, whatever is done how often', async (store) => {
    const at = { namespace: 'default', resource: 'r' }
    assert.deepEqual(await durableStep(store, at, { type: 'add-reference', node: 'a' }), {
      status: 'references',
      count: 1,
    })
    assert.deepEqual(await durableStep(store, at, { type: 'add-reference', node: 'a' }), {
      status: 'references',
      count: 1,
    })
    assert.deepEqual(await durableStep(store, at, { type: 'add-reference', node: 'A' }), {
      status: 'references',
      count: 2,
    })
    assert.deepEqual(await durableStep(store, at, { type: 'release-reference', node: 'a' }), {
      status: 'references',
      count: 1,
    })
    assert.deepEqual(await durableStep(store, at, { type: 'release-reference', node: 'a' }), {
      status: 'references',
      count: 1,
    })
    assert.deepEqual(await durableStep(store, at, { type: 'drop-node', node: 'A' }), { status: 'references', count: 0 })
  }),
  claim(
    'a late copy of a change of references changes nothing, also after the resource was forgotten',
    async (store, { clock }) => {
      const at = { namespace: 'default', resource: 'r' }
      const add = (seen?: number) => durableStep(store, at, { type: 'add-reference', node: 'a', seen })
      const remove = (seen?: number) => durableStep(store, at, { type: 'release-reference', node: 'a', seen })
      const present = async (reply: Awaited<ReturnType<typeof add>>) => {
        assert.ok(reply.status === 'changed', JSON.stringify(reply))
        return reply.seen
      }
      const used = { status: 'references', count: 1 }
      const unused = { status: 'references', count: 0 }
      // Somebody has used it before, and it was forgotten.
      await add()
      await remove()
      const beforeAdding = await present(await add(0))
      assert.deepEqual(await add(beforeAdding), used)
      assert.deepEqual(await add(beforeAdding), used)
      const beforeReleasing = await present(await remove(0))
      assert.deepEqual(await add(beforeReleasing), used)
      assert.equal((await remove(beforeReleasing)).status, 'changed')
      assert.deepEqual(await remove(await present(await remove(0))), unused)
      assert.deepEqual(await remove(beforeReleasing), unused)
      assert.equal((await add(beforeAdding)).status, 'changed')
      await pass(store, clock, 61_000)
      assert.equal(await store.read(at), undefined)
      assert.equal((await store.counts()).resources, 0)
      assert.equal((await add(beforeAdding)).status, 'changed')
      assert.equal((await store.read(at))?.references.length ?? 0, 0)
      const fence = fenceOf(await acquire(store, { node: 'b', operation: 'lock' }))
      assert.ok(fence > beforeReleasing, 'fences and numbers of changes share one line')
    },
  ),
  claim('sweeping is done in small steps and leaves nothing that is due', async (store, { clock }) => {
    for (let index = 0; index < 25; index++) await acquire(store, { node: 'a', resource: `r${index}`, ttlMs: 1_000 })
    assert.equal((await store.counts()).grants, 25)
    clock.jump(1_000)
    for (let sweeps = 0; sweeps < 10; sweeps++) await store.sweep(5)
    assert.equal((await store.counts()).grants, 0)
  }),
  claim('the next deadline is never later than what is due first', async (store, { clock }) => {
    await acquire(store, { node: 'a', ttlMs: 60_000 })
    await acquire(store, { node: 'b', waitMs: 2_000 })
    assert.ok((store.nextDeadlineMs() ?? Infinity) <= clock.nowMs() + 2_000)
  }),
  claim('listing pages through everything once, in a stable order, and filters', async (store) => {
    for (let index = 0; index < 25; index++)
      await acquire(store, { node: index % 2 ? 'odd' : 'even', resource: `r${index}` })
    const seen: string[] = []
    let after: string | undefined
    do {
      const page = await store.list({ limit: 10, after })
      assert.ok(page.resources.length <= 10)
      seen.push(...page.resources.map(({ resource }) => resource))
      after = page.next
    } while (after !== undefined)
    assert.equal(seen.length, 25)
    assert.equal(new Set(seen).size, 25)
    const ids = async (query: object) =>
      (await store.list({ limit: 100, ...query })).resources.map(({ resource }) => resource)
    assert.equal((await ids({ node: 'odd' })).length, 12)
    assert.deepEqual((await ids({ prefix: 'r2' })).sort(), ['r2', 'r20', 'r21', 'r22', 'r23', 'r24'])
    assert.deepEqual(await ids({ namespace: 'other' }), [])
    await durableStep(
      store,
      { namespace: 'default', resource: 'only-referenced' },
      { type: 'add-reference', node: 'x' },
    )
    assert.equal((await ids({ active: true })).length, 25)
    assert.deepEqual(await ids({ node: 'x' }), ['only-referenced'])
  }),
  claim('a policy is replaced only by one who knows the present version, and then counts at once', async (store) => {
    const { version } = await store.policy()
    const operations = { ...builtInOperations, bake: builtInOperations.lock! }
    const policy = { namespaces: { default: { ...defaultNamespacePolicy, operations } } }
    assert.deepEqual(await acquire(store, { node: 'a', operation: 'bake' }), {
      status: 'refused',
      code: 'unknown-operation',
    })
    assert.equal((await store.applyPolicy(policy, version + 1)).applied, false)
    assert.equal((await store.policy()).version, version)
    const applied = await store.applyPolicy(policy, version)
    assert.equal(applied.applied, true)
    assert.ok(applied.version > version)
    assert.equal((await acquire(store, { node: 'a', operation: 'bake' })).status, 'granted')
  }),
  claim('the largest result is told, kept and given again as it was', async (store) => {
    const result = '"\\\'é\n%?'.repeat(LARGEST_RESULT_BYTES / 16)
    const heard: unknown[] = []
    store.subscribe(({ event }) => event.type === 'told' && 'result' in event.answer && heard.push(event.answer.result))
    const fence = fenceOf(await acquire(store, { node: 'a' }))
    for (const node of ['b', 'c']) await acquire(store, { node })
    await release(store, { node: 'a', fence, ...success, result })
    for (const node of ['b', 'c', 'new']) {
      const reply = await acquire(store, { node })
      assert.ok(reply.status === 'skip' && reply.result === result, `${node} gets it`)
    }
    await becomes(() => heard.length === 1)
    assert.ok(heard[0] === result)
  }),
  claim('a store has an id that no other one has, fit for a header', async (store, world) => {
    const other = await world.open(defaultPolicy)
    assert.match(store.id, /^[\x21-\x7e]{1,64}$/)
    assert.notEqual(other.id, store.id)
  }),
  claim('counts are of what is there', async (store) => {
    const fence = fenceOf(await acquire(store, { node: 'a' }))
    await acquire(store, { node: 'b' })
    await acquire(store, { node: 'c' })
    const { grants, waiters } = await store.counts()
    assert.deepEqual({ grants, waiters, waiting: store.waiting() }, { grants: 1, waiters: 2, waiting: 2 })
    await release(store, { node: 'a', fence, ...success })
    assert.deepEqual([store.waiting(), (await store.counts()).grants, (await store.counts()).waiters], [0, 0, 0])
  }),
  claim('those who wait are counted by namespace and operation, however they leave', async (store, world) => {
    if (!store.queues) return
    const depths = async () =>
      Object.fromEntries((await store.queues!()).map((each) => [`${each.namespace} ${each.operation}`, each.waiting]))
    const at = { namespace: 'elsewhere' }
    const fence = fenceOf(await acquire(store, { node: 'a', resource: 'one' }))
    for (const node of ['b', 'c']) await acquire(store, { node, resource: 'one' })
    const other = fenceOf(await acquire(store, { ...at, node: 'a', operation: 'lock' }))
    for (const node of ['b', 'c']) await acquire(store, { ...at, node, operation: 'lock' })
    await acquire(store, { ...at, node: 'd', operation: 'lock', waitMs: 1_000 })
    assert.deepEqual(await depths(), { 'default pull': 2, 'elsewhere lock': 3 })
    await release(store, { node: 'a', resource: 'one', fence, ...success })
    await release(store, { ...at, node: 'a', operation: 'lock', fence: other, ...success })
    assert.deepEqual(await depths(), { 'elsewhere lock': 2 })
    await pass(store, world.clock, 1_000)
    assert.deepEqual(await depths(), { 'elsewhere lock': 1 })
    const actor = { operation: 'lock', node: 'c', owner: 'c', hold: '1' }
    await durableStep(store, { ...at, resource: 'r' }, { type: 'cancel', ...actor })
    assert.deepEqual(await depths(), {})
  }),
]
