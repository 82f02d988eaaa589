import assert from 'node:assert/strict'
import { test } from 'node:test'
import { storeConformance } from '@baton-lock/testing'
import { type Address, openMemoryStore } from 'baton-lock/stores'
import { CountingStore } from './counting-store.mjs'

/** Few random commands: the suite has tests of its own. */
const seeds = 2

storeConformance({
  name: 'counting',
  seeds,
  open: ({ data, ...options }) => new CountingStore(openMemoryStore({ ...options, id: data })),
  test: (name, run) => void test(name, run),
})

/** Breaks the contract: knows no resource. */
class ForgetfulStore extends CountingStore {
  override async read(_address: Address): Promise<undefined> {}
}

test('a store that breaks the contract does not pass', async () => {
  const cases: (() => Promise<void>)[] = []
  storeConformance({
    name: 'forgetful',
    seeds,
    open: ({ data, ...options }) => new ForgetfulStore(openMemoryStore({ ...options, id: data })),
    test: (_, run) => cases.push(run),
  })
  const ends = await Promise.allSettled(cases.map((run) => run()))
  assert.ok(ends.some(({ status }) => status === 'rejected'))
})
