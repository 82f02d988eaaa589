import { expect, test } from 'vitest'
import { memoriesToWrite, resourceInMemory, waitersToWrite } from './in-memory.ts'
import { addReference, askName, isIdle, type Resource, toWrite } from './state.ts'

const waiter = { operation: 'pull', owner: 'a', lease: { session: 's' } }
const kept = { untilMs: 1 } as never
const ask = { operation: 'pull', owner: 'a', hold: '1' }

const parts: Record<string, (resource: Resource) => unknown> = {
  'a grant': (resource) => toWrite(resource, 'grants').set('pull', {} as never),
  'a waiter': (resource) => waitersToWrite(resource).append(waiter as never),
  'a pause': (resource) => toWrite(resource, 'pauses').set('pull', kept),
  'a kept success': (resource) => toWrite(resource, 'kept').set('pull', kept),
  'a recent outcome': (resource) => toWrite(resource, 'recent').set('pull', kept),
  'a contradiction': (resource) => toWrite(resource, 'contradicted').set('pull', kept),
  'a reference': (resource) => addReference(resource, 'a', 1),
  'a number that was told': (resource) => {
    resource.changes = { last: 7, lastRelease: 7, keptUntilMs: 1 }
  },
  'a kept answer': (resource) => memoriesToWrite(resource, 'answers').set(ask, kept),
  'a released hold': (resource) => memoriesToWrite(resource, 'released').set(ask, kept),
}

test('a resource of which nothing is known but its fence is idle', () => {
  const resource = resourceInMemory('default', 'r')
  resource.fence = 7
  resource.ticket = 3
  resource.successes = 2
  expect(isIdle(resource)).toBe(true)
})

test.each(Object.entries(parts))('a resource with %s is not idle', (_, fill) => {
  const resource = resourceInMemory('default', 'r')
  fill(resource)
  expect(isIdle(resource)).toBe(false)
  expect(isIdle(resourceInMemory('default', 'another'))).toBe(true)
})

test('no two asks share a name, whatever their parts are', () => {
  const asks = [
    ['a', 'b', 'c'],
    ['a","b', '', 'c'],
    ['', 'a', 'b,c'],
    ['a,b', '', 'c'],
  ] as const
  const names = asks.map(([operation, owner, hold]) => askName({ operation, owner, hold }))
  expect(new Set(names).size).toBe(names.length)
})
