import assert from 'node:assert/strict'
import type { Event } from '@baton-lock/core'
import { durableStep } from '../store.ts'
import { acquire, type Case, claim, failure, fenceOf, pass, release, success } from './case.ts'
import { settled } from './simulated-clock.ts'

/** What happened reaches whoever listens: all of it, once, in order. */
export const carrying: readonly Case[] = [
  claim('every change is carried, in the order in which it happened, until one stops listening', async (store) => {
    const heard: Event[] = []
    const stop = store.subscribe(({ event }) => heard.push(event))
    const fence = fenceOf(await acquire(store, { node: 'a' }))
    await acquire(store, { node: 'b' })
    await release(store, { node: 'a', fence, ...failure })
    const next = fenceOf(await acquire(store, { node: 'b' }))
    await release(store, { node: 'b', fence: next, ...success })
    await settled()
    assert.deepEqual(
      heard.map(({ type }) => type),
      ['granted', 'queued', 'ended', 'granted', 'claimed', 'ended', 'referenced'],
    )
    stop()
    const count = heard.length
    await acquire(store, { node: 'c', resource: 'other' })
    await settled()
    assert.equal(heard.length, count)
  }),
  claim(
    'how long somebody has waited, and how long a grant was held, comes with the event',
    async (store, { clock }) => {
      const heard: Event[] = []
      const told: unknown[] = []
      store.subscribe(({ event, to }) => {
        heard.push(event)
        if (event.type === 'told') for (const { waitedMs } of to) told.push(waitedMs)
      })
      const fence = fenceOf(await acquire(store, { node: 'a' }))
      clock.jump(1_000)
      await acquire(store, { node: 'b' })
      await acquire(store, { node: 'c' })
      clock.jump(2_000)
      await release(store, { node: 'a', fence, ...failure })
      const next = fenceOf(await acquire(store, { node: 'b' }))
      clock.jump(500)
      await release(store, { node: 'b', fence: next, ...success })
      await settled()
      const waited = heard.flatMap((event) => (event.type === 'granted' && event.handOver ? event.waitedMs : []))
      const held = heard.flatMap((event) => (event.type === 'ended' ? event.heldMs : []))
      assert.deepEqual({ waited, held, told }, { waited: [2_000], held: [3_000, 500], told: [2_500] })
    },
  ),
  claim('an event is for all who are told by one success', async (store) => {
    const told: string[] = []
    store.subscribe(({ event, to }) => {
      if (event.type === 'told') told.push(...to.map(({ owner }) => owner))
    })
    const fence = fenceOf(await acquire(store, { node: 'a' }))
    const nodes = Array.from({ length: 100 }, (_, index) => `n${index}`)
    for (const node of nodes) await acquire(store, { node })
    await release(store, { node: 'a', fence, ...success })
    await settled()
    assert.deepEqual(told.sort(), [...nodes].sort())
  }),
  claim('all who wait are told how far the holder is, once a second at most', async (store, { clock }) => {
    const told: unknown[] = []
    store.subscribe(({ event, to }) => {
      if (event.type === 'progress' && to.length > 0) told.push([event.progress, to.map(({ owner }) => owner)])
    })
    const fence = fenceOf(await acquire(store, { node: 'a' }))
    for (const node of ['b', 'c']) await acquire(store, { node })
    const progress = { type: 'progress', operation: 'pull', owner: 'a', fence } as const
    for (const percent of [1, 2, 3])
      await durableStep(store, { namespace: 'default', resource: 'r' }, { ...progress, progress: percent })
    await pass(store, clock, 1_000)
    await settled()
    assert.deepEqual(told, [
      [1, ['b', 'c']],
      [3, ['b', 'c']],
    ])
  }),
  claim(
    'those who still wait are told how far the holder is when one of them leaves at the same time',
    async (store) => {
      const at = { namespace: 'default', resource: 'r' }
      const told: unknown[] = []
      store.subscribe(({ event, to }) => {
        if (event.type === 'progress') told.push(to.map(({ owner }) => owner))
      })
      const fence = fenceOf(await acquire(store, { node: 'a' }))
      const nodes = Array.from({ length: 6 }, (_, index) => `n${index}`)
      for (const node of nodes) await acquire(store, { node })
      const step = { operation: 'pull', owner: 'a', fence } as const
      // The first one keeps the resource busy, so that the others are decided together.
      const replies = await Promise.all([
        durableStep(store, at, { type: 'renew', ...step, hold: '1', ttlMs: 60_000 }),
        durableStep(store, at, { type: 'cancel', operation: 'pull', owner: 'n3', hold: '1' }),
        durableStep(store, at, { type: 'progress', ...step, progress: 1 }),
      ])
      assert.deepEqual(
        replies.map(({ status }) => status),
        ['renewed', 'cancelled', 'noted'],
      )
      await settled()
      assert.deepEqual(told, [nodes.filter((node) => node !== 'n3')])
    },
  ),
  claim('where an ask stands is known at any time', async (store) => {
    const standing = (node: string) =>
      store.standing({ namespace: 'default', resource: 'r', operation: 'pull', owner: node, hold: '1' })
    assert.equal((await standing('a')).status, 'nothing')
    const fence = fenceOf(await acquire(store, { node: 'a' }))
    await acquire(store, { node: 'b' })
    assert.equal((await standing('a')).status, 'granted')
    assert.deepEqual(await standing('b'), { status: 'queued', position: 1 })
    await release(store, { node: 'a', fence, ...success })
    assert.equal((await standing('b')).status, 'skip')
  }),
]
