import { newWorld } from '@baton-lock/test-support/server-world'
import { expect, test } from 'vitest'

const acquire = (resource: string) => ({ type: 'acquire', operation: 'pull', resource, node: 'a' })

test('a batch is carried out in order', async () => {
  const { post } = newWorld()
  const release = { type: 'release', operation: 'pull', resource: 'x', owner: 'a', fence: 1, outcome: 'success' }
  const { status, body } = await post('/v1/batch', { requests: [acquire('x'), release, acquire('x'), acquire('y')] })
  expect(status).toBe(200)
  expect(body.replies.map((reply: { status: string }) => reply.status)).toEqual([
    'granted',
    'released',
    'skip',
    'granted',
  ])
})

test('one bad request in a batch, and nothing of it is done', async () => {
  const { post, get } = newWorld()
  const reply = await post('/v1/batch', { requests: [acquire('x'), { ...acquire('y'), node: '' }] })
  expect([reply.status, reply.body.code]).toEqual([400, 'bad-request'])
  expect(reply.body.message).toMatch(/^requests\.1: node: /)
  expect((await get('/v1/resource?resource=x')).body.resource.grants).toEqual([])
})

test('a refusal within a batch is the answer of that request', async () => {
  const { post } = newWorld()
  const { body } = await post('/v1/batch', { requests: [{ ...acquire('x'), operation: 'paint' }, acquire('y')] })
  expect(body.replies).toMatchObject([{ status: 'refused', code: 'unknown-operation' }, { status: 'granted' }])
})

test('a batch has 1 to 1,000 requests of known types', async () => {
  const { post } = newWorld()
  const said = async (body: unknown) => {
    const reply = await post('/v1/batch', body)
    expect(reply.status).toBe(400)
    return reply.body.message
  }
  const many = Array.from({ length: 1_001 }, () => ({ type: 'get-policy' }))
  expect(await said({ requests: [] })).toContain('1 to 1000')
  expect(await said({ requests: many })).toContain('1 to 1000')
  expect(await said({})).toContain('requests')
  expect(await said(null)).toContain('requests')
  expect(await said({ requests: [null] })).toContain('requests.0.type')
  expect(await said({ requests: [{ type: 'toString' }] })).toContain('requests.0.type')
  expect((await post('/v1/batch', { requests: many.slice(1) })).body.replies).toHaveLength(1_000)
})
