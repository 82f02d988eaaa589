import assert from 'node:assert/strict'
import type { AddressedEvent, Command, Event } from '@baton-lock/core'
import { durableStep, type Store } from '../store.ts'
import { acquire, type Case, claim, failure, fenceOf, release, success } from './case.ts'
import { becomes } from './eventually.ts'
import { seededRandom } from './random.ts'

const at = { namespace: 'default', resource: 'r' }
const session = (name: string, node: string) => ({ session: name, node, ttlMs: 10_000 })

/** What holds for two processes on one store. `beside` opens another process on the data of the store under test. */
export const sharing: readonly Case[] = [
  claim('the processes of one store know it by the same id', async (store, world) => {
    assert.equal((await world.beside()).id, store.id)
  }),
  claim('two processes that hear all are told the same of a resource, once and in order', async (store, world) => {
    const processes = [store, await world.beside()]
    const heard = processes.map((each) => heardBy(each))
    for (const each of processes) await each.hearAll()
    const resources = ['x', 'y', 'z']
    await Promise.all(processes.map((each, index) => work(each, { seed: index + 1, resources })))
    await becomes(() => heard.every((events) => events.length === heard[0]!.length))
    for (const resource of resources) {
      const [first, second] = heard.map((events) => events.filter(({ event }) => event.resource === resource))
      assert.ok(first!.length > 20, `enough has happened to ${resource}`)
      assert.deepEqual(first!.map(carried), second!.map(carried))
      for (const events of [first!, second!]) inOrder(events)
    }
  }),
  claim(
    'what has happened is counted once: all but the process that has caused it hear that it was elsewhere',
    async (store, world) => {
      const other = await world.beside()
      const heard = [store, other].map((each) => heardBy(each))
      for (const each of [store, other]) await each.hearAll()
      const fence = fenceOf(await acquire(store, { node: 'a', operation: 'lock' }))
      await acquire(other, { node: 'b', operation: 'lock' })
      await release(store, { node: 'a', operation: 'lock', fence, ...success })
      await becomes(() => heard.every((events) => events.length === 4))
      const caused = heard.map((events) => events.filter(({ elsewhere }) => !elsewhere).map(({ type }) => type))
      assert.deepEqual(caused, [['granted', 'ended', 'granted'], ['queued']])
    },
  ),
  claim('what concerns a session is told where it is, once, also after it has moved', async (store, world) => {
    const other = await world.beside()
    await store.openSession(session('s', 'b'))
    const fence = fenceOf(await acquire(other, { node: 'a' }))
    await acquire(store, { node: 'b', session: 's' })
    assert.equal((await other.renewSession('s')).status, 'alive')
    const [here, there] = [heardBy(store), heardBy(other)]
    await release(store, { node: 'a', fence, ...failure })
    const types = (events: readonly Heard[]) => events.map(({ type }) => type)
    await becomes(() => there.length >= 2)
    assert.deepEqual(
      [types(here), types(there)],
      [
        ['ended', 'granted'],
        ['ended', 'granted'],
      ],
    )
    // And back again.
    assert.equal((await store.renewSession('s')).status, 'alive')
    const next = fenceOf(await acquire(other, { node: 'b', session: 's' }))
    await release(other, { node: 'b', fence: next, ...failure })
    await becomes(() => here.length >= 4 && there.length >= 4)
    assert.deepEqual(types(here), types(there))
    assert.deepEqual(types(here), ['ended', 'granted', 'claimed', 'ended'])
  }),
  claim('the end of a grant with holds of two sessions is told to both', async (store, world) => {
    const [second, third] = [await world.beside(), await world.beside()]
    await store.openSession(session('one', 'a'))
    await second.openSession(session('two', 'a'))
    const fence = fenceOf(await acquire(third, { node: 'a', session: 'one', hold: '1' }))
    await acquire(third, { node: 'a', session: 'two', hold: '2' })
    const heard = [store, second].map((each) => heardBy(each))
    await durableStep(third, at, { type: 'revoke', operation: 'pull', fence })
    await becomes(() => heard.every((events) => events.some(({ type }) => type === 'ended')))
    for (const events of heard) assert.equal(events.filter(({ type }) => type === 'ended').length, 1)
  }),
  claim('a session whose time is over is not revived by another process', async (store, world) => {
    const other = await world.beside()
    await store.openSession(session('s', 'a'))
    await acquire(store, { node: 'a', session: 's' })
    world.clock.jump(10_000)
    const lost = { status: 'refused', code: 'session-lost' }
    assert.deepEqual(await other.renewSession('s'), lost)
    assert.deepEqual(await store.renewSession('s'), lost)
    assert.deepEqual(await other.openSession(session('s', 'a')), { status: 'alive', ttlMs: 10_000, places: 0 })
    assert.deepEqual((await store.read(at))?.grants, [])
  }),
  claim('a waiter is told and granted whichever process its holder is at', async (store, world) => {
    const other = await world.beside()
    await other.openSession(session('s', 'b'))
    const heard = heardBy(other)
    for (const outcome of [failure, success]) {
      const hold = outcome.outcome
      const fence = fenceOf(await acquire(store, { node: 'a', operation: 'update', hold }))
      await acquire(other, { node: 'b', operation: 'update', session: 's', hold })
      heard.splice(0)
      await release(store, { node: 'a', operation: 'update', hold, fence, ...outcome })
      const wanted = outcome === failure ? 'granted' : 'told'
      await becomes(() => heard.some(({ type }) => type === wanted))
      if (outcome === success) continue
      const next = fenceOf(await acquire(other, { node: 'b', operation: 'update', session: 's', hold }))
      await release(other, { node: 'b', operation: 'update', hold, fence: next, ...failure })
    }
  }),
  claim('a policy that one process applies counts for the next step of another', async (store, world) => {
    const other = await world.beside()
    await acquire(other, { node: 'a', operation: 'lock' })
    const { version, policy } = await store.policy()
    const closed = { namespaces: { default: { ...policy.namespaces.default!, queueing: false } } }
    assert.equal((await store.applyPolicy(closed, version)).applied, true)
    assert.deepEqual(await acquire(other, { node: 'b', operation: 'lock' }), { status: 'refused', code: 'busy' })
    assert.equal((await other.applyPolicy(policy, version)).applied, false)
  }),
]

interface Heard extends AddressedEvent {
  readonly type: Event['type']
  readonly elsewhere: boolean
}

function heardBy(store: Store): Heard[] {
  const heard: Heard[] = []
  store.subscribe(({ event, to }, elsewhere) => heard.push({ type: event.type, event, to, elsewhere }))
  return heard
}

async function work(
  store: Store,
  { seed, resources }: { readonly seed: number; readonly resources: readonly string[] },
): Promise<void> {
  const random = seededRandom(seed)
  const nodes = ['a', 'b', 'c', 'd'].map((node) => `${node}${seed}`)
  for (const node of nodes) await store.openSession(session(node, node))
  for (let round = 0; round < 40; round++) {
    const commands = Array.from({ length: 3 }, async () => {
      const [resource, node] = [random.pick(resources), random.pick(nodes)]
      const operation = random.pick(['lock', 'update'])
      const fence = (await store.read({ ...at, resource }))?.grants.find((each) => each.node === node)?.fence
      const command: Command =
        fence === undefined
          ? { type: 'acquire', operation, node, owner: node, hold: `${round}`, session: node, ttlMs: 10_000 }
          : { type: 'revoke', operation, fence }
      await durableStep(store, { ...at, resource }, command)
    })
    await Promise.all(commands)
  }
}

/** As it is told by any process: who has caused it differs. */
function carried({ event, to }: Heard): unknown {
  return JSON.parse(JSON.stringify({ event, to }))
}

function inOrder(events: readonly Heard[]): void {
  const granted = new Set<number>()
  for (const { event } of events) {
    if (event.type === 'granted') {
      assert.ok(!granted.has(event.fence), `fence ${event.fence} is granted once`)
      assert.ok(
        [...granted].every((fence) => fence < event.fence),
        'fences rise',
      )
      granted.add(event.fence)
    }
    if (event.type === 'ended') assert.ok(granted.has(event.fence), `fence ${event.fence} is granted before it ends`)
  }
}
