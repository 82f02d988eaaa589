import { expect, test } from 'vitest'
import { checkCalls } from './call-check.ts'
import type { Call, ContentFault } from './soak-log.ts'

const digest = `sha256:${'a'.repeat(64)}`

function check(call: Partial<Call>, ...faults: ContentFault[]) {
  const whole: Call = {
    node: 'a',
    what: 'pull i',
    digests: [digest],
    fromMs: 20_000,
    toMs: 30_000,
    isAborted: false,
    ...call,
  }
  return checkCalls({ calls: [whole], faults, digests: new Set([digest]) }).map(({ rule }) => rule)
}

const error = 'ctr image pull: exit code 1\nctr: unexpected EOF'
const cut: ContentFault = { kind: 'cut', digest, fromMs: 21_000, toMs: 22_000 }

test('a pull fails only where something is the matter', () => {
  expect(check({})).toEqual([])
  expect(check({ error })).toEqual(['failed'])
  expect(check({ error, isAborted: true })).toEqual([])
  expect(check({ error, what: 'rm i' })).toEqual([])
})

test('what is the matter is on its node, with its blobs or with the lock server, and not long ago', () => {
  expect(check({ error }, cut)).toEqual([])
  expect(check({ error }, { ...cut, digest: 'another' })).toEqual(['failed'])
  expect(check({ error }, { kind: 'kill', node: 'a', fromMs: 5_000, toMs: 15_000 })).toEqual([])
  expect(check({ error }, { kind: 'kill', node: 'a', fromMs: 5_000, toMs: 6_000 })).toEqual(['failed'])
  expect(check({ error }, { kind: 'kill', node: 'b', fromMs: 21_000, toMs: 22_000 })).toEqual(['failed'])
  expect(check({ error }, { kind: 'outage', fromMs: 21_000, toMs: 22_000 })).toEqual([])
  expect(check({ error }, { kind: 'throttle', fromMs: 21_000, toMs: 22_000 })).toEqual(['failed'])
})

test('nothing excuses a blob that is not found', () => {
  const lost = `ctr image pull: exit code 1\nctr: failed to extract layer: blob ${digest} not found`
  const outage: ContentFault = { kind: 'outage', fromMs: 0, toMs: 90_000 }
  expect(check({ error: lost, isAborted: true }, cut, outage)).toEqual(['missing'])
  expect(check({ error: lost, what: 'gc' })).toEqual(['missing'])
  expect(check({ error: lost, what: 'prune', isCollected: true })).toEqual([])
  expect(check({ error: lost, isCollected: true })).toEqual(['missing'])
  expect(check({ error: lost.replace(digest, 'another'), what: 'gc' })).toEqual([])
})
