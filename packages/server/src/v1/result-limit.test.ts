import { LIMITS } from '@baton-lock/protocol'
import { newWorld } from '@baton-lock/test-support/server-world'
import { expect, test } from 'vitest'
import { limitsFor } from '../limits.ts'

const key = { operation: 'pull', resource: 'r' }
/** So many bytes of JSON. */
const resultOf = (bytes: number) => 'é'.repeat(Math.floor(bytes / 2) - 1) + 'x'.repeat(bytes % 2)
const release = (result: unknown) => ({ ...key, owner: 'a', fence: 1, outcome: 'success', result })

function raisedWorld(resultLimit: number) {
  return newWorld({ resultLimit, limits: limitsFor(resultLimit) })
}

test('a result over the limit is refused too-large, and nothing has changed', async () => {
  const { post, get } = newWorld()
  await post('/v1/acquire', { ...key, node: 'a' })
  const refused = await post('/v1/release', release(resultOf(LIMITS.resultBytes + 1)))
  expect([refused.status, refused.body.code]).toEqual([413, 'too-large'])
  expect(refused.body.message).toMatch(/16384 bytes; .*result_limit/)
  expect((await get('/v1/resource?resource=r')).body.resource).toMatchObject({ grants: [{ fence: 1 }], kept: [] })
  expect((await post('/v1/release', release(resultOf(LIMITS.resultBytes)))).status).toBe(200)
})

test('a body that is too large as a whole is refused too-large as well', async () => {
  const { post } = newWorld()
  await post('/v1/acquire', { ...key, node: 'a' })
  const refused = await post('/v1/release', release(resultOf(LIMITS.bodyBytes)))
  expect([refused.status, refused.body.code]).toEqual([413, 'too-large'])
})

test('with the limit raised, 200 KB reach a waiter on the stream, and whoever asks again', async () => {
  const world = raisedWorld(LIMITS.resultMaxBytes)
  const { post, stream } = world
  const result = resultOf(200_000)
  await post('/v1/acquire', { ...key, node: 'a' })
  await post('/v1/acquire', { ...key, node: 'b' })
  const events = await stream('/v1/events?resource=r&operation=pull&owner=b&node=b')
  expect((await post('/v1/release', release(result))).status).toBe(200)
  await events.until(() => events.events().some(({ type }) => type === 'told'))
  expect(events.events().find(({ type }) => type === 'told').answer.result).toBe(result)
  expect((await post('/v1/acquire', { ...key, node: 'c' })).body).toMatchObject({ status: 'skip', result })
  expect(world.app.streams.cut).toBe(0)
  events.close()
})

test('with the limit raised, a stream that is told one large result after another is not cut', async () => {
  const { app, post, stream } = raisedWorld(LIMITS.resultMaxBytes)
  const events = await stream('/v1/events?resource=r')
  const result = resultOf(LIMITS.resultMaxBytes)
  for (const fence of [1, 2, 3, 4]) {
    await post('/v1/acquire', { operation: 'lock', resource: 'r', node: 'a', hold: `${fence}` })
    const ending = { owner: 'a', hold: `${fence}`, fence, outcome: 'success', result }
    expect((await post('/v1/release', { operation: 'lock', resource: 'r', ...ending })).status).toBe(200)
  }
  await events.until(() => events.events().filter(({ type }) => type === 'ended').length === 4)
  expect(app.streams.cut).toBe(0)
  events.close()
})

test('what is larger than any server takes is refused whatever the limit', async () => {
  const { post } = raisedWorld(LIMITS.resultMaxBytes)
  await post('/v1/acquire', { ...key, node: 'a' })
  const refused = await post('/v1/release', release(resultOf(LIMITS.resultMaxBytes + 1)))
  expect([refused.status, refused.body.code]).toEqual([400, 'bad-request'])
})
