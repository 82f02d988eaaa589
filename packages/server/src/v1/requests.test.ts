import { type RequestType, routes } from '@baton-lock/protocol'
import { logTo, StoreUnavailable, UnknownOutcome } from '@baton-lock/service'
import type { Store } from '@baton-lock/store/store'
import { newWorld } from '@baton-lock/test-support/server-world'
import { expect, test } from 'vitest'

const key = { operation: 'pull', resource: 'sha256:a' }

test('every request type answers at its route', async () => {
  const { send, post, get } = newWorld()
  const said: Partial<Record<RequestType, unknown>> = {}
  const ask = async (type: RequestType, input: Record<string, unknown>) => {
    const { method, path } = routes[type]
    if (method === 'PUT') {
      const reply = await send({ method, path, body: input })
      said[type] = [reply.status, reply.body.status]
    } else {
      const reply =
        method === 'GET' ? await get(`${path}?${new URLSearchParams(input as never)}`) : await post(path, input)
      said[type] = [reply.status, reply.body.status]
    }
  }
  await ask('open-session', { session: 's1', node: 'a' })
  await ask('renew-session', { session: 's1' })
  await ask('acquire', { ...key, node: 'a' })
  await ask('renew', { ...key, owner: 'a', fence: 1 })
  await ask('progress', { ...key, owner: 'a', fence: 1, progress: { percent: 10 } })
  await ask('get-resource', { resource: 'sha256:a' })
  await ask('list-waiters', { resource: 'sha256:a', after: '0', limit: '10' })
  await ask('list-resources', { active: 'true', limit: '10' })
  await ask('release', { ...key, owner: 'a', fence: 1, outcome: 'failure', error: 'no' })
  await post('/v1/acquire', { ...key, node: 'b' })
  await ask('revoke', { ...key })
  await ask('cancel', { ...key, owner: 'b' })
  await ask('add-reference', { resource: 'sha256:a', node: 'a' })
  await ask('release-reference', { resource: 'sha256:a', node: 'a' })
  await ask('drop-node', { node: 'a' })
  await ask('list-places', { session: 's1' })
  await ask('leave-place', { ...key, owner: 'a', session: 's1' })
  await ask('forget', { resource: 'r' })
  await ask('close-session', { session: 's1' })
  await ask('get-timeline', { resource: 'sha256:a' })
  await ask('get-overview', {})
  await ask('get-policy', {})
  await ask('apply-policy', { version: 1, policy: { namespaces: {} } })
  await ask('get-who', {})
  expect(said).toEqual({
    'open-session': [200, 'alive'],
    'renew-session': [200, 'alive'],
    acquire: [200, 'granted'],
    renew: [200, 'renewed'],
    progress: [200, 'noted'],
    'get-resource': [200, 'resource'],
    'list-waiters': [200, 'waiters'],
    'list-resources': [200, 'resources'],
    release: [200, 'released'],
    revoke: [200, 'revoked'],
    forget: [200, 'forgotten'],
    cancel: [200, 'cancelled'],
    'add-reference': [200, 'references'],
    'release-reference': [200, 'references'],
    'drop-node': [200, 'dropped'],
    'list-places': [200, 'places'],
    'leave-place': [200, 'done'],
    'close-session': [200, 'closed'],
    'get-timeline': [200, 'timeline'],
    'get-overview': [200, 'overview'],
    'get-policy': [200, 'policy'],
    'apply-policy': [200, 'policy'],
    'get-who': [200, 'who'],
  })
  expect(Object.keys(said).sort()).toEqual(Object.keys(routes).sort())
})

test('a refusal comes with the HTTP status of its code and a sentence', async () => {
  const { post, send } = newWorld()
  await post('/v1/acquire', { ...key, node: 'a' })
  await post('/v1/references/add', { resource: 'r', node: 'a' })
  const said = async (path: string, body: unknown) => {
    const reply = await post(path, body)
    expect(reply.body).toMatchObject({ status: 'refused', message: expect.stringMatching(/\w+ .*\.$/) })
    return [reply.status, reply.body.code]
  }
  expect(await said('/v1/acquire', { ...key, node: 'b', queueing: false })).toEqual([409, 'busy'])
  expect(await said('/v1/acquire', { operation: 'delete', resource: 'r', node: 'b' })).toEqual([409, 'in-use'])
  expect(await said('/v1/acquire', { operation: 'paint', resource: 'r', node: 'b' })).toEqual([
    422,
    'unknown-operation',
  ])
  expect(await said('/v1/acquire', { ...key, node: 'b', session: 'gone' })).toEqual([410, 'session-lost'])
  expect(await said('/v1/release', { ...key, owner: 'b', fence: 1, outcome: 'success' })).toEqual([403, 'not-holder'])
  expect(await said('/v1/release', { ...key, owner: 'a', fence: 0, outcome: 'success' })).toEqual([403, 'stale-fence'])
  expect(await said('/v1/revoke', { operation: 'lock', resource: 'x' })).toEqual([403, 'unknown-grant'])
  const body = { version: 7, policy: { namespaces: {} } }
  const reply = await send({ method: 'PUT', path: '/v1/policy', body })
  expect([reply.status, reply.body.code]).toEqual([409, 'policy-changed'])
})

test('the owner of an ask that names none is its node', async () => {
  const { post, get } = newWorld()
  await post('/v1/acquire', { ...key, node: 'a' })
  const { body } = await get('/v1/resource?resource=sha256:a')
  expect(body.resource.grants).toMatchObject([{ node: 'a', owner: 'a', fence: 1 }])
})

test('a resource that nobody knows is idle, not missing', async () => {
  const { get } = newWorld()
  const { status, body } = await get('/v1/resource?resource=nobody&namespace=x')
  expect(status).toBe(200)
  expect(body.resource).toMatchObject({ namespace: 'x', resource: 'nobody', grants: [], waiting: 0 })
})

test('resources are listed a page at a time', async () => {
  const { post, get } = newWorld()
  for (const resource of ['a', 'b', 'c']) await post('/v1/acquire', { operation: 'pull', resource, node: 'n' })
  const first = await get('/v1/resources?limit=2')
  expect(first.body.resources).toHaveLength(2)
  const second = await get(`/v1/resources?limit=2&after=${encodeURIComponent(first.body.next)}`)
  expect(second.body.resources).toHaveLength(1)
  expect(second.body.next).toBeUndefined()
})

function failing(error: () => Error): (store: Store) => Store {
  const fails = () => Promise.reject(error())
  return (store) =>
    new Proxy(store, {
      get: (target, name) => {
        if (name === 'step' || name === 'policy') return fails
        const value = Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
}

test('a store that is away is a 503 that says that nothing was changed', async () => {
  const { post, get } = newWorld({ wrap: failing(() => new StoreUnavailable('db1.internal refused us')) })
  const reply = await post('/v1/acquire', { ...key, node: 'a' })
  expect([reply.status, reply.body.code]).toEqual([503, 'store-unavailable'])
  expect(JSON.stringify(reply.body)).not.toContain('db1.internal')
  expect((await get('/healthz')).status).toBe(200)
  expect((await get('/readyz')).status).toBe(503)
})

test('not knowing whether it was done is a code of its own', async () => {
  const { post } = newWorld({ wrap: failing(() => new UnknownOutcome('timed out')) })
  const reply = await post('/v1/acquire', { ...key, node: 'a' })
  expect([reply.status, reply.body.code]).toEqual([503, 'unknown-outcome'])
})

test('a defect is a 500 that tells the log everything and the client nothing', async () => {
  const lines: unknown[] = []
  const { post } = newWorld({
    wrap: failing(() => new TypeError('secret of the store')),
    log: logTo((...entry) => lines.push(entry)),
  })
  const reply = await post('/v1/acquire', { ...key, node: 'a' })
  expect([reply.status, reply.body.code]).toEqual([500, 'internal'])
  expect(JSON.stringify(reply.body)).not.toContain('secret')
  expect(JSON.stringify(lines)).toContain('secret of the store')
})

test('health and readiness answer', async () => {
  const { get, send } = newWorld()
  expect(await get('/healthz')).toMatchObject({ status: 200, body: { status: 'ok' } })
  expect(await get('/readyz')).toMatchObject({ status: 200, body: { status: 'ready' } })
  expect((await send({ method: 'HEAD', path: '/healthz' })).status).toBe(200)
})
