import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StoreEvent } from 'baton/stores'
import { openMemoryStore } from 'baton/stores/memory'
import { storeConformance } from 'baton/testing'
import { CountingStore } from './counting-store.js'

storeConformance({
  name: 'counting',
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
    open: ({ data, ...options }) => new SilentStore(openMemoryStore({ ...options, id: data })),
    test: (_, run) => cases.push(run),
  })
  const ends = await Promise.allSettled(cases.map((run) => run()))
  assert.ok(ends.some(({ status }) => status === 'rejected'))
})
