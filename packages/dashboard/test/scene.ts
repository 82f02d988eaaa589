import { setTimeout as sleep } from 'node:timers/promises'
import type { Stage } from './stage.ts'

/** Something to look at, for the pictures: it takes a few seconds, as what it shows does. */

export const PAGE = 'render/homepage'
export const STUCK = 'catalog/prices'

export async function playScene({ post }: Stage): Promise<void> {
  await Promise.all([playStuck(post), playHistory(post)])
}

type Post = Stage['post']

/** An update that takes much longer than others did. */
async function playStuck(post: Post): Promise<void> {
  const update = (resource: string, node: string) => ({
    operation: 'update',
    resource,
    node,
    owner: node,
    ttlMs: 3_600_000,
  })
  const { fence } = await post('/v1/acquire', update(STUCK, 'node-7'))
  await post('/v1/progress', {
    operation: 'update',
    resource: STUCK,
    owner: 'node-7',
    fence,
    progress: { done: 31, total: 120 },
  })
  for (const node of ['node-3', 'node-9']) await post('/v1/acquire', update(STUCK, node))
  for (let each = 0; each < 30; each++) {
    const resource = `catalog/shelf-${each}`
    const quick = await post('/v1/acquire', update(resource, 'node-7'))
    const { ttlMs: _, node: __, ...held } = update(resource, 'node-7')
    await post('/v1/release', { ...held, fence: quick.fence, outcome: 'success' })
  }
}

/** A failure, hand-overs, skips, a holder that died, and one that is at work. */
async function playHistory(post: Post): Promise<void> {
  const key = { operation: 'once', resource: PAGE }
  const ask = (node: string, ttlMs = 3_600_000) => post('/v1/acquire', { ...key, node, ttlMs })
  const end = (owner: string, fence: number, how: object) => post('/v1/release', { ...key, owner, fence, ...how })
  const first = await ask('node-12')
  for (const node of ['node-4', 'node-5', 'node-6', 'node-11']) await ask(node)
  await sleep(600)
  await end('node-12', first.fence, { outcome: 'failure', error: 'the origin answered 503' })
  const second = await ask('node-4')
  await sleep(900)
  await end('node-4', second.fence, { outcome: 'success' })
  await ask('node-9', 1_000)
  await ask('node-2')
  let third = await ask('node-2')
  while (third.status === 'queued') {
    await sleep(50)
    third = await ask('node-2')
  }
  await sleep(400)
  await end('node-2', third.fence, { outcome: 'success' })
  const fourth = await ask('node-8')
  await post('/v1/progress', { ...key, owner: 'node-8', fence: fourth.fence, progress: { percent: 62 } })
  for (const node of ['node-1', 'node-3', 'node-5', 'node-6', 'node-10']) await ask(node)
}
