import { expect, test } from 'vitest'
import type { Acquire, Command } from './command.ts'
import { builtInOperations, defaultNamespacePolicy, type NamespacePolicy } from './policy.ts'
import { resourceInMemory } from './state/in-memory.ts'
import { step } from './step.ts'
import { viewOf } from './view/view.ts'

/** A resource whose policy is changed under way, as `baton policy apply` does. */
function newWorld(first: Partial<NamespacePolicy> = {}) {
  const resource = resourceInMemory('default', 'r')
  let policy: NamespacePolicy = { ...defaultNamespacePolicy, ...first }
  const at = (nowMs: number, command: Command) => step(resource, command, { nowMs, policy, fenceFloor: 0 })
  const apply = (next: Partial<NamespacePolicy>) => {
    policy = { ...defaultNamespacePolicy, ...next }
  }
  const ask = (node: string, operation: string, more: Partial<Acquire> = {}): Acquire => ({
    type: 'acquire',
    operation,
    node,
    owner: node,
    hold: '-',
    session: node,
    ttlMs: 10_000,
    ...more,
  })
  const held = () => viewOf(resource).grants.map(({ operation, node }) => `${operation}:${node}`)
  return { resource, at, apply, ask, held }
}

const fails = (owner: string, operation: string): Command => {
  return { type: 'release', operation, owner, hold: '-', outcome: 'failure', error: 'x' }
}

test('a queue that another policy has set free goes on with the next step of its resource', () => {
  const { at, apply, ask, held } = newWorld({ exclusion: 'resource' })
  at(0, ask('a', 'pull'))
  at(0, ask('b', 'update'))
  at(0, ask('c', 'lock'))
  apply({ exclusion: 'operation' })
  const { events } = at(1, fails('a', 'pull'))
  expect(held()).toEqual(['lock:c', 'update:b'])
  expect(events).toMatchObject([
    { event: { type: 'granted', operation: 'lock', fence: 2, attempt: 1, handOver: true } },
    { event: { type: 'granted', operation: 'update', fence: 3, attempt: 1, handOver: true } },
    { event: { type: 'ended', operation: 'pull' } },
  ])
})

test('a newcomer does not pass a queue that another policy has set free', () => {
  const { at, apply, ask, held } = newWorld({ exclusion: 'resource' })
  at(0, ask('a', 'pull'))
  at(0, ask('b', 'lock'))
  apply({ exclusion: 'operation' })
  expect(at(1, ask('c', 'lock')).reply).toEqual({ status: 'queued', position: 1 })
  expect(held()).toEqual(['pull:a', 'lock:b'])
})

test('a retry delay is kept under another policy', () => {
  const lock = { ...builtInOperations.lock!, retryDelayMs: 700 }
  const { at, apply, ask, held } = newWorld({ operations: { lock } })
  at(0, ask('a', 'lock'))
  at(0, ask('b', 'lock'))
  at(0, fails('a', 'lock'))
  apply({ exclusion: 'resource' })
  at(699, { type: 'expire' })
  expect(held()).toEqual([])
  at(700, { type: 'expire' })
  expect(held()).toEqual(['lock:b'])
})

test('a key that was granted before its retry delay was over, under another policy, has no second grant after it', () => {
  const operations = { ...builtInOperations, lock: { ...builtInOperations.lock!, retryDelayMs: 700 } }
  const { at, apply, ask, held } = newWorld({ operations })
  at(0, ask('a', 'lock'))
  at(0, ask('b', 'lock'))
  at(0, ask('c', 'lock'))
  at(0, ask('d', 'pull'))
  at(0, fails('a', 'lock'))
  apply({ operations, exclusion: 'resource' })
  at(100, fails('d', 'pull'))
  at(100, ask('b', 'lock'))
  apply({ operations, exclusion: 'operation' })
  const { events } = at(700, { type: 'expire' })
  expect(events).toEqual([])
  expect(held()).toEqual(['lock:b'])
})

test('when one holder in all becomes the rule, nobody follows before the last of several holders has gone', () => {
  const { at, apply, ask, held } = newWorld()
  at(0, ask('a', 'pull'))
  at(0, ask('b', 'lock'))
  at(0, ask('c', 'pull'))
  apply({ exclusion: 'resource' })
  at(1, fails('a', 'pull'))
  expect(held()).toEqual(['lock:b'])
  at(2, fails('b', 'lock'))
  expect(held()).toEqual(['pull:c'])
})

test('who waits for an operation that the table no longer has is told so', () => {
  const { at, apply, ask } = newWorld()
  at(0, ask('a', 'lock'))
  at(0, ask('b', 'lock'))
  apply({ operations: {} })
  expect(at(1, { ...fails('a', 'lock'), outcome: 'success' } as Command).events).toMatchObject([
    { event: { type: 'ended', outcome: { outcome: 'success' } } },
    { event: { type: 'told', answer: { status: 'refused', code: 'unknown-operation' } } },
  ])
  expect(at(1, ask('b', 'lock')).reply).toEqual({ status: 'refused', code: 'unknown-operation' })
})

test('the last reference goes, whatever is kept of operations that the table no longer has', () => {
  const { resource, at, apply, ask } = newWorld()
  at(0, ask('a', 'pull'))
  at(0, { ...fails('a', 'pull'), outcome: 'success' } as Command)
  apply({ operations: {} })
  at(1, { type: 'release-reference', node: 'a' })
  expect(viewOf(resource)).toMatchObject({ references: [], kept: [{ operation: 'pull' }] })
})
