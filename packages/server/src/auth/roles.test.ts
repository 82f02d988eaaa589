import { createHash } from 'node:crypto'
import { request } from 'node:http'
import { type RequestType, type Role, routes, type Token } from '@baton-lock/protocol'
import { requestSchemas } from '@baton-lock/protocol/schemas'
import { askOn, openWebSocket } from '@baton-lock/test-support/opened-web-socket'
import { recordedLog } from '@baton-lock/test-support/recorded-log'
import { newWorld, type World } from '@baton-lock/test-support/server-world'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { Router } from '../http/router.ts'
import { requestAccess, routeAccess } from './roles.ts'

const sha256 = (secret: string) => createHash('sha256').update(secret).digest('hex')
const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` })
/** The secret of each role; that of `node` acts for `b`. */
const secrets: Record<Role, string> = { node: 'secret-of-b', observe: 'secret-eyes', admin: 'secret-root' }
const tokens: Token[] = [
  { sha256: sha256(secrets.node), role: 'node', nodes: ['b'] },
  { sha256: sha256(secrets.observe), role: 'observe' },
  { sha256: sha256(secrets.admin), role: 'admin' },
  { sha256: sha256('secret-of-a'), role: 'node', nodes: ['a'] },
]

const key = { operation: 'lock', resource: 'x' }
/** A good request of each type; where it acts for a node, that is `b`. */
const examples: Record<RequestType, Record<string, unknown>> = {
  acquire: { ...key, node: 'b' },
  release: { ...key, node: 'b', owner: 'b', fence: 1, outcome: 'success' },
  renew: { ...key, node: 'b', owner: 'b' },
  cancel: { ...key, node: 'b', owner: 'b' },
  revoke: key,
  forget: key,
  progress: { ...key, node: 'b', owner: 'b', fence: 1, progress: 1 },
  'add-reference': { resource: 'x', node: 'b' },
  'release-reference': { resource: 'x', node: 'b' },
  'drop-node': { node: 'b' },
  'open-session': { session: 'session-secret', node: 'b' },
  'renew-session': { session: 'session-secret' },
  'close-session': { session: 'session-secret' },
  'list-places': { session: 'session-secret' },
  'leave-place': { ...key, node: 'b', owner: 'b', session: 'session-secret' },
  'get-resource': { resource: 'x' },
  'list-waiters': { resource: 'x' },
  'list-resources': {},
  'get-timeline': { resource: 'x' },
  'get-overview': {},
  'get-policy': {},
  'apply-policy': { version: 1, policy: { namespaces: {} } },
  'get-who': {},
}
const classicAsk = { type: 'pull', resource_id: 'x', node_id: 'b' }
const classicQuery = `?${new URLSearchParams(classicAsk)}`

/** What is asked for at a route of the table, so that nothing but a role could be wrong with it. */
function good(route: string): { readonly query?: string; readonly body?: object } {
  const type = (Object.keys(routes) as RequestType[]).find(
    (one) => `${routes[one].method} ${routes[one].path}` === route,
  )
  if (type && routes[type].method === 'GET') return { query: `?${new URLSearchParams(examples[type] as never)}` }
  if (type) return { body: examples[type] }
  if (route === 'POST /v1/batch') return { body: { requests: [{ type: 'get-who' }] } }
  if (route.startsWith('GET /lock')) return { query: classicQuery }
  return route.startsWith('POST') ? { body: classicAsk } : {}
}

interface Answered {
  readonly status: number
  readonly text: string
}

/** The answer over a real connection; of a stream only its head. */
async function answerTo(
  world: World,
  route: string,
  { role, query = '', body }: { role?: Role; query?: string; body?: object },
): Promise<Answered> {
  const [method = '', path = ''] = route.split(' ')
  const headers = { connection: 'close', ...(role && bearer(secrets[role])) }
  const outgoing = request((await world.url()) + path + query, { method, headers, agent: false })
  outgoing.end(body && JSON.stringify(body))
  return new Promise((resolve, reject) => {
    outgoing.on('error', reject)
    outgoing.on('response', (response) => {
      const { statusCode: status = 0 } = response
      let text = ''
      response.on('data', (chunk) => (text += chunk))
      response.on('close', () => resolve({ status, text }))
      response.on('error', () => {})
      if (response.headers['content-type']?.startsWith('text/event-stream')) outgoing.destroy()
    })
  })
}

/** Whether it is the role that is wrong: 403 has other reasons too. The answer to a HEAD does not say which. */
function isWrongRole(route: string, { status, text }: Answered): boolean {
  if (route.startsWith('HEAD ')) return status === 403
  return status === 403 && /An observe token only reads|This takes an /.test(text)
}

/** An upgrade, which is no route of the router. */
const STREAM = 'GET /v1/stream'
const served = [...routeAccess.keys()].filter((route) => route !== STREAM)

test('the table has every route of the server, and the server has every route of the table', () => {
  const { app } = newWorld({ tokens })
  expect([...app.routes].sort()).toEqual([...served].sort())
})

test('a route that the table does not have cannot be added, nor with another method', () => {
  const router = new Router()
  const handle = () => ({ status: 200 })
  expect(() => router.add({ method: 'GET', path: '/v1/other', handle })).toThrow(
    'GET /v1/other has no row in auth/roles.ts',
  )
  expect(() => router.add({ method: ['GET', 'DELETE'], path: '/v1/policy', handle })).toThrow(
    'DELETE /v1/policy has no row',
  )
})

test('without a token every route is 401, but those that the page needs and that say how the server is', async () => {
  const world = newWorld({ tokens })
  const open: string[] = []
  for (const route of served) {
    const { status } = await answerTo(world, route, good(route))
    if (status !== 401) open.push(route)
    expect([route, status === 401]).toEqual([route, routeAccess.get(route)!.roles !== undefined])
  }
  expect(open).toEqual([
    'GET /healthz',
    'HEAD /healthz',
    'GET /readyz',
    'HEAD /readyz',
    'GET /openapi.json',
    'GET /',
    'HEAD /',
    'GET /assets/:name',
    'HEAD /assets/:name',
  ])
  expect((await openWebSocket(world)).status).toBe(401)
})

test.each(Object.keys(secrets) as Role[])(
  'with a token of the role %s, a route is 403 exactly where the table says so',
  async (role) => {
    const { log, entries } = recordedLog({ isDebug: true })
    const backup = async () => ({ bytes: 0, chunks: (async function* () {})() })
    const world = newWorld({ tokens, log, backup })
    for (const route of served) {
      const answer = await answerTo(world, route, { role, ...good(route) })
      const { roles } = routeAccess.get(route)!
      expect([route, isWrongRole(route, answer)]).toEqual([route, roles !== undefined && !roles.includes(role)])
      // And nothing else is wrong with it.
      if (!route.includes('/assets/')) expect([400, 401, 404, 405]).not.toContain(answer.status)
    }
    expect((await openWebSocket(world, { token: secrets[role] })).status).toBeUndefined()
    expectNoSecret(JSON.stringify(entries))
  },
)

test.each(Object.keys(secrets) as Role[])(
  'in a batch and on a stream, the rows are the same for the role %s',
  async (role) => {
    const world = newWorld({ tokens })
    const opened = await openWebSocket(world, { token: secrets[role] })
    for (const [type, input] of Object.entries(examples) as [RequestType, object][]) {
      const isForbidden = !requestAccess[type].roles!.includes(role)
      const asked = { type, ...input }
      const batch = await world.post('/v1/batch', { requests: [asked] }, bearer(secrets[role]))
      expect([type, batch.status === 403]).toEqual([type, isForbidden])
      const reply = (await askOn(opened, asked)) as { code?: string }
      expect([type, reply.code === 'forbidden']).toEqual([type, isForbidden])
      expect([type, reply.code]).not.toEqual([type, 'bad-request'])
    }
  },
)

/** Those that act for a node, by their schemas: all that name one, but for lists that are of one. */
const acting = (Object.keys(examples) as RequestType[]).filter((type) => {
  const schema = JSON.stringify(z.toJSONSchema(requestSchemas[type], { io: 'input' }))
  return schema.includes('"node":{') && routes[type].method !== 'GET'
})

test('no request acts for the node of another token: at its route, in a batch, on a stream', async () => {
  expect(acting).toEqual([
    'acquire',
    'release',
    'renew',
    'cancel',
    'progress',
    'add-reference',
    'release-reference',
    'drop-node',
    'open-session',
    'leave-place',
  ])
  const world = newWorld({ tokens })
  await world.post('/v1/acquire', { ...key, node: 'a' }, bearer('secret-of-a'))
  await world.post('/v1/references/add', { resource: 'x', node: 'a' }, bearer('secret-of-a'))
  const before = await world.get('/v1/resource?resource=x', bearer('secret-of-a'))
  const opened = await openWebSocket(world, { token: secrets.node })
  for (const type of acting) {
    const input = { ...examples[type], node: 'a', ...('owner' in examples[type] && { owner: 'a' }) }
    const asked = { role: 'node', body: input } as const
    expect([type, (await answerTo(world, `POST ${routes[type].path}`, asked)).status]).toEqual([type, 403])
    const batch = await world.post('/v1/batch', { requests: [{ type, ...input }] }, bearer(secrets.node))
    expect([type, batch.status]).toEqual([type, 403])
    expect(await askOn(opened, { type, ...input })).toMatchObject({ status: 'refused', code: 'forbidden' })
  }
  // Nor without naming it, where the owner alone would do.
  for (const type of ['release', 'renew', 'cancel', 'progress'] as const) {
    const { node: _, ...input } = { ...examples[type], owner: 'a' } as Record<string, unknown>
    expect([type, (await answerTo(world, `POST ${routes[type].path}`, { role: 'node', body: input })).status]).toEqual([
      type,
      403,
    ])
    expect(await askOn(opened, { type, ...input })).toMatchObject({ status: 'refused', code: 'forbidden' })
  }
  // A default of the connection is no way around it.
  opened.webSocket.send(JSON.stringify({ defaults: { node: 'a' } }))
  expect(await askOn(opened, { type: 'acquire', ...key })).toMatchObject({ code: 'forbidden' })
  const after = await world.get('/v1/resource?resource=x', bearer('secret-of-a'))
  expect(after.body.resource).toEqual(before.body.resource)
})

test('the classic paths do not act for the node of another token either', async () => {
  const world = newWorld({ tokens })
  const ofA = { ...classicAsk, node_id: 'a' }
  await world.post('/lock', ofA, bearer('secret-of-a'))
  const query = `?${new URLSearchParams(ofA)}`
  for (const [route, asked] of [
    ['POST /lock', { body: ofA }],
    ['POST /unlock', { body: ofA }],
    ['POST /lock/status', { body: ofA }],
    ['GET /lock/status', { query }],
    ['GET /lock/subscribe', { query }],
  ] as const) {
    expect([route, (await answerTo(world, route, { role: 'node', ...asked })).status]).toEqual([route, 403])
  }
  expect((await world.get(`/lock/status${query}`, bearer('secret-of-a'))).body.acquired).toBe(true)
})

test('whatever is asked, the log has no token, no hash of one and no session', async () => {
  const { log, entries } = recordedLog({ isDebug: true })
  const world = newWorld({ tokens, log })
  for (const route of served) {
    await answerTo(world, route, good(route))
    await answerTo(world, route, { role: 'admin', ...good(route) })
  }
  await world.get('/v1/who', bearer('secret-wrong'))
  const opened = await openWebSocket(world, { token: secrets.admin })
  for (const [type, input] of Object.entries(examples)) await askOn(opened, { type, ...input })
  await openWebSocket(world, {
    protocols: ['baton.v1', `baton.token.${Buffer.from('secret-wrong').toString('base64url')}`],
  })
  world.app.replaceTokens(tokens.slice(1))
  expect(entries.map(([, message]) => message)).toEqual(expect.arrayContaining(['wrong tokens', 'audit']))
  expectNoSecret(JSON.stringify(entries))
})

/** Nothing that a thief could use. */
function expectNoSecret(text: string): void {
  for (const secret of ['session-secret', 'secret-', ...tokens.map((token) => token.sha256!.slice(0, 16))])
    expect(text).not.toContain(secret)
  for (const secret of Object.values(secrets)) expect(text).not.toContain(Buffer.from(secret).toString('base64url'))
}
