import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StoreEvent } from 'baton/stores'
import { openMemoryStore } from 'baton/stores/memory'
import { storeConformance } from 'baton/testing'
import { CountingStore } from './counting-store.js'

/** Of random commands: what these are good for is the business of the suite's own tests. */
const seeds = 2

storeConformance({
  name: 'counting',
  seeds,
  open: ({ data, ...options }) => new CountingStore(openMemoryStore({ ...options, id: data })),
  test: (name, run) => void test(name, run),
})

/** Breaks the contract: tells nobody what happens. */
class SilentStore extends CountingStore {
  override subscribe(_listener: (event: StoreEvent) => void): () => void {
    return () => {}
  }
}

test('a store that breaks the contract does not pass', async () => {
  const cases: (() => Promise<void>)[] = []
  storeConformance({
    name: 'silent',
    seeds,
    open: ({ data, ...options }) => new SilentStore(openMemoryStore({ ...options, id: data })),
    test: (_, run) => cases.push(run),
  })
  const ends = await Promise.allSettled(cases.map((run) => run()))
  assert.ok(ends.some(({ status }) => status === 'rejected'))
})
