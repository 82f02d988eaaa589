import { GoClient, inTime } from '@baton-lock/test-support/go-client'
import { newWorld, quiet } from '@baton-lock/test-support/server-world'
import { expect, test } from 'vitest'

const WORK_MS = 1_500

test.each(['pull', 'update', 'delete', 'image-layer'])(
  'ten nodes of the known client, the first two fail: %s runs three times',
  async (type) => {
    const world = newWorld()
    let runs = 0
    const work = async (client: GoClient) => {
      const locked = await client.lock()
      if (locked !== 'acquired') return locked
      const fails = ++runs <= 2
      await new Promise<void>((resolve) => world.clock.after(WORK_MS, resolve))
      await client.unlock(fails ? 'no luck' : undefined)
      return fails ? 'failed' : 'worked'
    }
    const results: Promise<unknown>[] = []
    for (let index = 0; index < 10; index++) {
      results.push(work(new GoClient(world, { node: `n${index}`, type, named: false })))
      while (world.app.streams.size < index) await quiet()
    }
    expect(await inTime(world, Promise.all(results))).toEqual(['failed', 'failed', 'worked', ...Array(7).fill('done')])
    expect(runs).toBe(3)
    expect(await world.service.counts()).toMatchObject({ grants: 0, waiters: 0 })
  },
)
