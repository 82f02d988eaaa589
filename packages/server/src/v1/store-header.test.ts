import { newWorld } from '@baton-lock/test-support/server-world'
import { expect, test } from 'vitest'

test('every answer of /v1 names the store: replies, refusals, what is not there, and streams', async () => {
  const { get, post, stream, store } = newWorld()
  const answers = [
    await get('/v1/policy'),
    await post('/v1/acquire', { operation: 'lock', resource: 'r', node: 'a' }),
    await post('/v1/acquire', {}),
    await post('/v1/acquire', '{'),
    await get('/v1/nothing'),
    await get('/v1/acquire'),
    await stream('/v1/events'),
  ]
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 400, 400, 404, 405, 200])
  for (const { headers } of answers) expect(headers['baton-store']).toBe(store.id)
})

test('whoever has no token is told the store too, and the classic paths say nothing of it', async () => {
  const { get, store } = newWorld({ tokens: [{ sha256: 'ab'.repeat(32), role: 'admin' }] })
  const refused = await get('/v1/policy')
  expect([refused.status, refused.headers['baton-store']]).toEqual([401, store.id])
  expect((await get('/healthz')).headers['baton-store']).toBeUndefined()
})
