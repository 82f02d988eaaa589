import { createHash } from 'node:crypto'
import type { Token } from '@baton-lock/protocol'
import { StoreUnavailable } from '@baton-lock/service'
import { askOn, openWebSocket } from '@baton-lock/test-support/opened-web-socket'
import { recordedLog } from '@baton-lock/test-support/recorded-log'
import { newWorld } from '@baton-lock/test-support/server-world'
import { expect, test } from 'vitest'
import type { AuditEntry } from './audit.ts'

const sha256 = (secret: string) => createHash('sha256').update(secret).digest('hex')
const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` })
const tokens: Token[] = [
  { name: 'rack-a', sha256: sha256('of-a'), role: 'node', nodes: ['a'] },
  { name: 'ops', sha256: sha256('root'), role: 'admin' },
]
const key = { operation: 'lock', resource: 'x' }

function auditedWorld(options: Parameters<typeof newWorld>[0] = {}) {
  const entries: AuditEntry[] = []
  // By what a request is found in the log is a matter of request-log.test.ts.
  const audit = ({ requestId, stream, request, ...entry }: AuditEntry) => void entries.push(entry)
  return { ...newWorld({ tokens, audit, ...options }), entries }
}

const byOps = { who: 'ops', role: 'admin', address: '127.0.0.1' }
const byA = { who: 'rack-a', role: 'node', address: '127.0.0.1' }

test('what an operator does is written down with who, what, and how it was answered', async () => {
  const { send, post, entries } = auditedWorld()
  const asOps = (path: string, body: object) => post(path, body, bearer('root'))
  await post('/v1/acquire', { ...key, node: 'a' }, bearer('of-a'))
  await asOps('/v1/revoke', { ...key, fence: 1 })
  await asOps('/v1/revoke', key)
  await asOps('/v1/forget', { namespace: 'team', operation: 'once', resource: 'r' })
  await asOps('/v1/references/add', { resource: 'x', node: 'n' })
  await asOps('/v1/references/release', { resource: 'x', node: 'n' })
  await asOps('/v1/references/drop-node', { node: 'n' })
  const body = { version: 1, policy: { namespaces: {} } }
  await send({ method: 'PUT', path: '/v1/policy', body, headers: bearer('root') })
  await send({ method: 'PUT', path: '/v1/policy', body, headers: bearer('root') })
  const at = { namespace: 'default', resource: 'x' }
  expect(entries).toEqual([
    { ...byOps, what: 'revoke', ...at, operation: 'lock', fence: 1, node: 'a', answer: 'revoked' },
    { ...byOps, what: 'revoke', ...at, operation: 'lock', answer: 'refused', code: 'unknown-grant' },
    { ...byOps, what: 'forget', namespace: 'team', operation: 'once', resource: 'r', answer: 'forgotten' },
    { ...byOps, what: 'add-reference', ...at, node: 'n', answer: 'references' },
    { ...byOps, what: 'release-reference', ...at, node: 'n', answer: 'references' },
    { ...byOps, what: 'drop-node', node: 'n', resources: 0, answer: 'dropped' },
    { ...byOps, what: 'apply-policy', versionBefore: 1, version: 2, answer: 'policy' },
    { ...byOps, what: 'apply-policy', versionBefore: 1, answer: 'refused', code: 'policy-changed' },
  ])
})

test('what a node does for itself is nothing of an operator; what it may not do is', async () => {
  const { post, get, entries } = auditedWorld()
  const asA = (path: string, body: object) => post(path, body, bearer('of-a'))
  await asA('/v1/acquire', { ...key, node: 'a' })
  await asA('/v1/references/add', { resource: 'x', node: 'a' })
  await asA('/v1/references/release', { resource: 'x', node: 'a' })
  await asA('/v1/release', { ...key, owner: 'a', fence: 1, outcome: 'success' })
  await get('/v1/resources', bearer('root'))
  expect(entries).toEqual([])
  await asA('/v1/batch', { requests: [{ type: 'get-who' }, { type: 'revoke', ...key }] })
  await asA('/v1/revoke', key)
  await asA('/v1/references/drop-node', { node: 'b' })
  await asA('/v1/forget', key)
  const at = { namespace: 'default', ...key }
  expect(entries).toEqual([
    { ...byA, what: 'revoke', ...at, answer: 'refused', code: 'forbidden' },
    { ...byA, what: 'revoke', ...at, answer: 'refused', code: 'forbidden' },
    { ...byA, what: 'drop-node', node: 'b', answer: 'refused', code: 'forbidden' },
    { ...byA, what: 'forget', ...at, answer: 'forgotten' },
  ])
})

test('in a batch and on a stream it is written down all the same', async () => {
  const world = auditedWorld()
  const requests = [{ type: 'forget', ...key }, { type: 'get-who' }, { type: 'drop-node', node: 'n' }]
  await world.post('/v1/batch', { requests }, bearer('root'))
  const opened = await openWebSocket(world, { token: 'root' })
  await askOn(opened, { type: 'revoke', ...key })
  await askOn(opened, { type: 'get-who' })
  await askOn(await openWebSocket(world, { token: 'of-a' }), { type: 'revoke', ...key })
  expect(world.entries.map(({ who, what, answer, code }) => [who, what, answer, code])).toEqual([
    ['ops', 'forget', 'forgotten', undefined],
    ['ops', 'drop-node', 'dropped', undefined],
    ['ops', 'revoke', 'refused', 'unknown-grant'],
    ['rack-a', 'revoke', 'refused', 'forbidden'],
  ])
})

test('where there are no tokens it was anybody, from where it was', async () => {
  const { post, entries } = auditedWorld({ tokens: undefined })
  await post('/v1/forget', key)
  await post('/v1/references/add', { resource: 'x', node: 'n' })
  expect(entries).toEqual([
    { who: 'anybody', address: '127.0.0.1', what: 'forget', namespace: 'default', ...key, answer: 'forgotten' },
  ])
})

test('what the store could not do is written down as that', async () => {
  const world = auditedWorld()
  world.store.list = () => Promise.reject(new StoreUnavailable('away'))
  await world.post('/v1/references/drop-node', { node: 'n' }, bearer('root'))
  const opened = await openWebSocket(world, { token: 'root' })
  await askOn(opened, { type: 'drop-node', node: 'n' })
  const entry = { ...byOps, what: 'drop-node', node: 'n', answer: 'refused', code: 'store-unavailable' }
  expect(world.entries).toEqual([entry, entry])
})

test('changes of the tokens are written down, by their names', () => {
  const { app, entries } = auditedWorld()
  app.replaceTokens([tokens[1]!, { name: 'eyes', sha256: sha256('eyes'), role: 'observe', namespace: 'team' }])
  app.replaceTokens([tokens[1]!, { name: 'eyes', sha256: sha256('eyes'), role: 'observe', namespace: 'team' }])
  expect(entries).toEqual([
    { who: 'tokens file', what: 'remove-token', token: 'rack-a', role: 'node', nodes: ['a'], answer: 'done' },
    { who: 'tokens file', what: 'add-token', token: 'eyes', role: 'observe', namespace: 'team', answer: 'done' },
  ])
})

test('by default it goes to the log, marked as audit, and its values stay values', async () => {
  const { log, entries } = recordedLog()
  const { post } = newWorld({ tokens, log })
  await post('/v1/forget', { resource: 'x","who":"nobody' }, bearer('root'))
  expect(entries).toEqual([
    ['info', 'audit', expect.objectContaining({ audit: true, who: 'ops', resource: 'x","who":"nobody' })],
  ])
})
