import { routes } from '@baton-lock/protocol'
import { newWorld } from '@baton-lock/test-support/server-world'
import { expect, test } from 'vitest'

const good = { operation: 'pull', resource: 'x', node: 'a' }

test('bad input is a 400 that names the field and what to change, and changes nothing', async () => {
  const { post, service } = newWorld()
  const said = async (body: unknown) => {
    const reply = await post('/v1/acquire', body)
    expect([reply.status, reply.body.status, reply.body.code]).toEqual([400, 'refused', 'bad-request'])
    return reply.body.message as string
  }
  expect(await said('')).toContain('JSON object')
  expect(await said('{')).toContain('not JSON')
  expect(await said('[]')).toContain('JSON object')
  expect(await said('null')).toContain('JSON object')
  expect(await said('"pull"')).toContain('JSON object')
  expect(await said({})).toBe('resource: is missing; give a string.')
  expect(await said({ ...good, node: 7 })).toBe('node: Invalid input: expected string, received number.')
  expect(await said({ ...good, resource: '' })).toMatch(/^resource: must be 1 to 512 bytes/)
  expect(await said({ ...good, resource: 'a\nb' })).toMatch(/^resource: .*control characters/)
  expect(await said({ ...good, resource: '\u0000' })).toMatch(/^resource: .*control characters/)
  expect(await said({ ...good, resource: '\u2028' })).toMatch(/^resource: .*control characters/)
  expect(await said('{"operation":"pull","resource":"\\ud800","node":"a"}')).toMatch(/^resource: /)
  expect(await said({ ...good, resource: 'é'.repeat(257) })).toMatch(/^resource: must be 1 to 512 bytes/)
  expect(await said({ ...good, ttlMs: 1 })).toMatch(/^ttlMs: /)
  expect(await said({ ...good, ttlMs: 1.5 })).toMatch(/^ttlMs: /)
  expect(await said({ ...good, ttlMs: '30000' })).toMatch(/^ttlMs: /)
  expect(await said({ ...good, waitMs: -1 })).toMatch(/^waitMs: /)
  expect(await said({ ...good, queueing: 'yes' })).toMatch(/^queueing: /)
  expect(await said({ ...good, colour: 'red' })).toBe('unknown field "colour"; remove it.')
  expect(await said({ ...good, type: 'release' })).toMatch(/^type: /)
  expect(await said('{"operation":"pull","resource":"x","node":"a","__proto__":{"x":1}}')).toContain('__proto__')
  expect(await said('{"operation":"pull","resource":"x","node":"a","constructor":{"prototype":{}}}')).toContain('JSON')
  expect(await service.counts()).toEqual({ resources: 0, grants: 0, waiters: 0, sessions: 0 })
})

test('an outcome that is none of the three is named', async () => {
  const { post } = newWorld()
  const release = { operation: 'pull', resource: 'x', owner: 'a', fence: 1 }
  const said = async (body: object) => (await post('/v1/release', body)).body.message
  expect(await said({ ...release, outcome: 'fine' })).toBe('outcome: must be success, failure or cancelled.')
  expect(await said(release)).toBe('outcome: must be success, failure or cancelled.')
  expect(await said({ ...release, outcome: 'success', result: 'x'.repeat(16 * 1024) })).toContain('16384 bytes')
  expect(await said({ ...release, outcome: 'failure', error: 'x'.repeat(5_000) })).toMatch(/^error: /)
})

test('JSON that is nested without end is a 400, not a full stack', async () => {
  const { post } = newWorld()
  const deep = '['.repeat(20_000) + ']'.repeat(20_000)
  const head = '"operation":"pull","resource":"x","owner":"a","fence":1,"outcome":"success"'
  const reply = await post('/v1/release', `{${head},"result":${deep}}`)
  expect([reply.status, reply.body.code]).toEqual([400, 'bad-request'])
  expect(reply.body.message).toContain('nested')
})

test('the Content-Type says nothing: any body is read as JSON', async () => {
  const { post } = newWorld()
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'no type at all', ';;;']) {
    expect((await post('/v1/acquire', good, { 'content-type': type })).status).toBe(200)
  }
})

test('a body that is not UTF-8 is refused rather than read as something else', async () => {
  const { post } = newWorld()
  const body = Buffer.concat([Buffer.from('{"resource":"'), Buffer.from([0xff]), Buffer.from('"}')])
  const reply = await post('/v1/acquire', body)
  expect([reply.status, reply.body.message]).toEqual([400, expect.stringContaining('UTF-8')])
})

test('queries are checked like bodies', async () => {
  const { get } = newWorld()
  const said = async (path: string) => {
    const reply = await get(path)
    expect([reply.status, reply.body.code]).toEqual([400, 'bad-request'])
    return reply.body.message
  }
  expect(await said('/v1/resource')).toBe('resource: is missing; give a string.')
  expect(await said('/v1/resource?resource=a&resource=b')).toMatch(/^resource: /)
  expect(await said('/v1/resource?resource=%zz')).toContain('%25')
  expect(await said('/v1/resource?resource=%ff')).toContain('%25')
  expect(await said('/v1/resource?resource=a%0Ab')).toContain('control characters')
  expect(await said('/v1/resource?resource=a&__proto__=b')).toContain('unknown field')
  expect(await said('/v1/resources?limit=0')).toMatch(/^limit: /)
  expect(await said('/v1/resources?limit=many')).toMatch(/^limit: /)
  for (const after of ['junk', '[]', '["a"]', '["a",1]', '["a","b","c"]', '["a","\\x"]'])
    expect(await said(`/v1/resources?after=${encodeURIComponent(after)}`)).toContain('`next` of an earlier page')
  expect(await said('/v1/events?operation=pull')).toContain('all three')
  expect(await said('/v1/events?session=s1')).toContain('unknown field')
})

test('an id of a megabyte is refused by its size, before it is read', async () => {
  const { post } = newWorld()
  const reply = await post('/v1/acquire', { ...good, resource: 'x'.repeat(1_000_000) })
  expect([reply.status, reply.body.code]).toEqual([413, 'too-large'])
})

test('an unknown path is a 404, a known one with another method a 405 that says which it takes', async () => {
  const { send, get, post } = newWorld()
  expect(await get('/v1/nothing')).toMatchObject({ status: 404, body: { status: 'refused', code: 'not-found' } })
  expect(await post('/v1/acquire/', '{')).toMatchObject({ status: 404, body: { code: 'not-found' } })
  expect(await get('/%zz')).toMatchObject({ status: 400, body: { code: 'bad-request' } })
  for (const { method, path } of Object.values(routes)) {
    const reply = await send({ method: 'DELETE', path })
    expect([reply.status, reply.body.code]).toEqual([405, 'method-not-allowed'])
    expect(reply.headers.allow).toContain(method)
  }
  expect((await send({ method: 'HEAD', path: '/v1/events' })).status).toBe(405)
})

test('whatever is sent to whatever path, the answer is never a 5xx', async () => {
  const { send } = newWorld()
  const bodies = ['', '{', '0', '[]', '{}', '{"a":1}', '"\\u0000"', '{"requests":[[]]}', '{"policy":[],"version":{}}']
  const paths = [
    ...Object.values(routes).map(({ path }) => path),
    '/v1/batch',
    '/v1/events?hold=',
    '/lock',
    '/unlock',
    '/lock/status',
    '/lock/subscribe',
    '/openapi.json/',
  ]
  for (const path of paths) {
    for (const body of bodies) {
      for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'] as const) {
        if (method === 'GET' && ['/v1/resources', '/v1/overview', '/v1/policy', '/v1/who'].includes(path)) continue
        const { status } = await send({ method, path, body })
        expect([path, body, method, status >= 400 && status < 500]).toEqual([path, body, method, true])
      }
    }
  }
})
