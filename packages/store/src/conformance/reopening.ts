import assert from 'node:assert/strict'
import { acquire, type Case, claim, fenceOf } from './case.ts'

/** What holds for a store that was closed and is opened again. */
export const reopening: readonly Case[] = [
  claim('the id of a store is the same after reopening, and so are its grants', async (store, world) => {
    const { id } = store
    const fence = fenceOf(await acquire(store, { node: 'a' }))
    const again = await world.reopen()
    assert.equal(again.id, id)
    assert.equal(fenceOf(await acquire(again, { node: 'a' })), fence)
  }),
  claim('those who wait are counted after reopening too', async (store, world) => {
    if (!store.queues) return
    await acquire(store, { node: 'a' })
    for (const node of ['b', 'c']) await acquire(store, { node })
    const again = await world.reopen()
    assert.deepEqual(await again.queues!(), [{ namespace: 'default', operation: 'pull', waiting: 2 }])
  }),
]
