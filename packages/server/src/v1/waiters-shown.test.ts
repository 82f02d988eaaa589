import { newWorld } from '@baton-lock/test-support/server-world'
import { expect, test } from 'vitest'

async function withQueue(waiting: number) {
  const world = newWorld()
  for (let each = 0; each <= waiting; each++)
    await world.post('/v1/acquire', { operation: 'lock', resource: 'r', node: `n${each}` })
  return world
}

test('of those who wait as many are shown as are wanted, and all are counted', async () => {
  const { get } = await withQueue(5)
  for (const [waiters, nodes] of [
    [0, []],
    [2, ['n1', 'n2']],
    [9, ['n1', 'n2', 'n3', 'n4', 'n5']],
  ] as const) {
    const one = (await get(`/v1/resource?resource=r&waiters=${waiters}`)).body.resource
    const [listed] = (await get(`/v1/resources?waiters=${waiters}`)).body.resources
    for (const view of [one, listed]) {
      expect(view.waiters.map(({ node }: { node: string }) => node)).toEqual(nodes)
      expect(view).toMatchObject({ waiting: 5, why: [{ operation: 'lock', waiting: 5 }] })
    }
  }
})

test('more than a view may show is refused', async () => {
  const { get } = await withQueue(0)
  expect(await get('/v1/resource?resource=r&waiters=1001')).toMatchObject({ status: 400 })
  expect(await get('/v1/resources?waiters=101')).toMatchObject({ status: 400 })
})
