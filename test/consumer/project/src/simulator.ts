import assert from 'node:assert/strict'
import { defaultPolicy } from 'baton/core'
import { StoreUnavailable } from 'baton/stores'
import { openMemoryStore } from 'baton/stores/memory'
import { checkHistory, FaultyStore, type HistoryRecord, SimulatedClock, simulateSeeds } from 'baton/testing'

/** Whole clusters in simulated time: a seed is a run, and gives the same again. */
const hashes = new Map<number, string>()
for await (const { seed, violations, hash, counts } of simulateSeeds({ seeds: 2, from: 1 })) {
  assert.deepEqual(violations, [], `seed ${seed}`)
  assert.ok(counts.grants > 0)
  hashes.set(seed, hash)
}
assert.equal(hashes.size, 2)
for await (const { seed, hash } of simulateSeeds({ seeds: 1, from: 2 })) assert.equal(hash, hashes.get(seed))

/** The history of one's own, checked against the rules. */
const clock = new SimulatedClock()
const history: HistoryRecord[] = []
const store = openMemoryStore({ clock, onStep: (step) => history.push({ kind: 'step', ...step }) })
const address = { namespace: 'default', resource: 'r' }
const ask = { type: 'acquire', operation: 'lock', node: 'a', owner: 'a', hold: '1', ttlMs: 1_000 } as const
assert.equal((await store.step(address, ask)).status, 'granted')
await clock.advance(2_000)
await store.sweep(10)
assert.equal((await store.step(address, { ...ask, owner: 'b' })).status, 'granted')
assert.deepEqual(checkHistory(history, { policy: defaultPolicy }), [])
const twice = [...history, ...history.slice(-1)]
assert.notDeepEqual(checkHistory(twice, { policy: defaultPolicy }), [])

/** A store that is out of reach. */
const faulty = new FaultyStore(store, {
  delayMs: () => 0,
  fault: () => 'before',
  wait: async () => {},
  carry: (deliver) => deliver(),
})
await assert.rejects(faulty.step(address, ask), StoreUnavailable)
