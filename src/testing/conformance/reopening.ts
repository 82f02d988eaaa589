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
]
