import { expect, test } from 'vitest'
import { builtInOperations, defaultNamespacePolicy, defaultPolicy, operationOf, policyOf, rowOf } from './policy.ts'

const HOUR_MS = 3_600_000

test('the built-in rows are those of the design', () => {
  const none = { attempts: 0, retryDelayMs: 0, dropsReferences: false }
  expect(builtInOperations).toEqual({
    pull: {
      whenReferenced: 'skip',
      waitersOnSuccess: 'skip',
      addsReference: true,
      keepMs: HOUR_MS,
      keepRevisionMs: HOUR_MS,
      contradicts: ['delete'],
      ...none,
    },
    update: {
      whenReferenced: 'allow',
      waitersOnSuccess: 'skip',
      addsReference: false,
      keepMs: 0,
      keepRevisionMs: HOUR_MS,
      contradicts: ['delete'],
      ...none,
    },
    delete: {
      whenReferenced: 'refuse',
      waitersOnSuccess: 'skip',
      addsReference: false,
      keepMs: 0,
      keepRevisionMs: 0,
      contradicts: ['pull', 'update'],
      ...none,
      dropsReferences: true,
    },
    lock: {
      whenReferenced: 'allow',
      waitersOnSuccess: 'next',
      addsReference: false,
      keepMs: 0,
      keepRevisionMs: 0,
      contradicts: [],
      ...none,
    },
  })
})

test('a namespace has its own policy, that of `default` where none is named for it, and the built-in one without that', () => {
  const own = { ...defaultNamespacePolicy, queueLimit: 1 }
  const other = { ...defaultNamespacePolicy, queueLimit: 2 }
  const policy = { namespaces: { own, default: other } }
  expect(policyOf(policy, 'own')).toBe(own)
  expect(policyOf(policy, 'nobody')).toBe(other)
  expect(policyOf(policy, 'constructor')).toBe(other)
  expect(policyOf({ namespaces: {} }, 'own')).toBe(defaultNamespacePolicy)
  expect(defaultPolicy).toEqual({ namespaces: { default: defaultNamespacePolicy } })
})

test('`updateRequiresNoRef` is a switch of updates alone', () => {
  const policy = { ...defaultNamespacePolicy, updateRequiresNoRef: true }
  expect(operationOf(policy, 'update')).toEqual({ ...builtInOperations.update, whenReferenced: 'refuse' })
  expect(operationOf(policy, 'lock')).toBe(builtInOperations.lock)
  expect(operationOf(policy, 'unknown')).toBeUndefined()
  expect(operationOf({ ...policy, operations: {} }, 'update')).toBeUndefined()
  expect(operationOf(defaultNamespacePolicy, 'update')).toBe(builtInOperations.update)
})

test('what no row names is work that is done once for classic clients, and nothing for the others', () => {
  const once = { ...builtInOperations.lock, waitersOnSuccess: 'skip' }
  expect(rowOf(defaultNamespacePolicy, { operation: 'image-layer', classic: true })).toEqual(once)
  expect(rowOf(defaultNamespacePolicy, { operation: 'constructor', classic: true })).toEqual(once)
  expect(rowOf(defaultNamespacePolicy, { operation: 'image-layer' })).toBeUndefined()
  expect(rowOf(defaultNamespacePolicy, { operation: 'pull', classic: true })).toBe(builtInOperations.pull)
})
