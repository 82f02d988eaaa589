import { status } from '@grpc/grpc-js'
import { expect, test } from 'vitest'
import { errorOf, Failure, isStalePass, Late } from './failures.ts'

const asked = { endpoint: 'h:2379', isAdmin: false, user: 'me', prefix: 'baton/' }

const kindsOf = (error: Error) => {
  return [errorOf(error, { ...asked, isWrite: false }).kind, errorOf(error, { ...asked, isWrite: true }).kind]
}

// What etcd says is in etcdserver/api/v3rpc/rpctypes/error.go.
test.each([
  ['nothing was proposed', status.UNAVAILABLE, 'etcdserver: no leader'],
  ['nothing was proposed', status.UNKNOWN, 'etcdserver: too many requests'],
  ['nothing was proposed', status.UNKNOWN, 'raft proposal dropped'],
  ['nothing was proposed', status.UNAVAILABLE, 'etcdserver: not capable'],
  ['it does not take part', status.UNAVAILABLE, 'etcdserver: rpc not supported for learner'],
  ['nobody has looked at it', status.UNAVAILABLE, 'Stream refused by server'],
  ['it was never sent', status.UNAVAILABLE, 'No connection established. Last error: connect ECONNREFUSED'],
  ['it was never sent', status.UNAVAILABLE, 'Channel closed before call started'],
])('once more may do, since %s: %i %s', (_, code, details) => {
  expect(kindsOf(new Failure(code, details))).toEqual(['unreachable', 'unreachable'])
})

test.each([
  [status.UNAVAILABLE, 'etcdserver: request timed out'],
  [status.UNAVAILABLE, 'etcdserver: request timed out, possibly due to previous leader failure'],
  [status.UNAVAILABLE, 'etcdserver: leader changed'],
  [status.UNAVAILABLE, 'etcdserver: server stopped'],
  [status.UNAVAILABLE, 'Connection dropped'],
  [status.UNAVAILABLE, 'read ECONNRESET'],
  [status.INTERNAL, 'Received RST_STREAM with code 2 (Internal server error)'],
  [status.CANCELLED, 'context canceled'],
  [status.DEADLINE_EXCEEDED, 'context deadline exceeded'],
  [status.UNKNOWN, 'something that nobody has heard of'],
])('a change may have been made, and a read may be repeated: %i %s', (code, details) => {
  expect(kindsOf(new Failure(code, details))).toEqual(['unreachable', 'unknown'])
})

test('a change without an answer in time may have been made', () => {
  expect(kindsOf(new Late())).toEqual(['unreachable', 'unknown'])
})

test.each([
  ['full', status.RESOURCE_EXHAUSTED, 'etcdserver: mvcc: database space exceeded'],
  ['compacted', status.OUT_OF_RANGE, 'etcdserver: mvcc: required revision has been compacted'],
  ['refused', status.OUT_OF_RANGE, 'etcdserver: mvcc: required revision is a future revision'],
  ['refused', status.INVALID_ARGUMENT, 'etcdserver: request is too large'],
  ['refused', status.RESOURCE_EXHAUSTED, 'grpc: received message larger than max (3000020 vs. 2097152)'],
  ['refused', status.NOT_FOUND, 'etcdserver: requested lease not found'],
  ['refused', status.PERMISSION_DENIED, 'etcdserver: permission denied'],
  ['refused', status.DATA_LOSS, 'etcdserver: corrupt cluster'],
  ['refused', status.UNIMPLEMENTED, 'unknown service etcdserverpb.KV'],
])('%s: %i %s', (kind, code, details) => {
  expect(kindsOf(new Failure(code, details))).toEqual([kind, kind])
})

test('what only the role root may do is told apart', () => {
  const denied = new Failure(status.PERMISSION_DENIED, 'etcdserver: permission denied')
  expect(errorOf(denied, { ...asked, isWrite: true, isAdmin: true }).message).toBe(
    'etcd lets only the role root do that: `etcdctl user grant-role me root`, or leave it to somebody else',
  )
})

test('another pass may do where this one has run out', () => {
  const isStale = (code: status, details: string) => isStalePass(new Failure(code, details))
  expect(isStale(status.UNAUTHENTICATED, 'etcdserver: invalid auth token')).toBe(true)
  expect(isStale(status.INVALID_ARGUMENT, 'etcdserver: revision of auth store is old')).toBe(true)
  expect(isStale(status.INVALID_ARGUMENT, 'etcdserver: user name is empty')).toBe(true)
  expect(isStale(status.PERMISSION_DENIED, 'etcdserver: permission denied')).toBe(false)
  expect(isStale(status.UNAVAILABLE, 'etcdserver: no leader')).toBe(false)
})
