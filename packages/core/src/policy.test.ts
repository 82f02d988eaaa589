import { expect, test } from 'vitest'
import {
  builtInNamespace,
  builtInOperations,
  completePolicy,
  defaultNamespacePolicy,
  defaultPolicy,
  isSamePolicy,
  operationOf,
  policyOf,
  rowOf,
  saidIn,
} from './policy.ts'

const HOUR_MS = 3_600_000

test('the built-in rows are those of the design', () => {
  const none = { attempts: 0, retryDelayMs: 0, dropsReferences: false }
  const mutex = {
    whenReferenced: 'allow',
    waitersOnSuccess: 'next',
    addsReference: false,
    keepMs: 0,
    keepRevisionMs: 0,
    contradicts: [],
    ...none,
  }
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
    lock: mutex,
    lead: mutex,
    once: { ...mutex, waitersOnSuccess: 'skip' },
  })
})

test('a built-in row of which something is said stays as it is in all else', () => {
  const said = { namespaces: { default: {}, own: { operations: { once: { attempts: 3 } } } } }
  expect(completePolicy(said).namespaces.own!.operations.once).toMatchObject({ attempts: 3, waitersOnSuccess: 'skip' })
})

test('a namespace has its own policy, that of `default` where none is named for it, and the built-in one without that', () => {
  const own = { ...defaultNamespacePolicy, queueLimit: 1 }
  const other = { ...defaultNamespacePolicy, queueLimit: 2 }
  const policy = { namespaces: { own, default: other } }
  expect(policyOf(policy, 'own')).toBe(own)
  expect(policyOf(policy, 'nobody')).toBe(other)
  expect(policyOf(policy, 'constructor')).toBe(other)
  expect(policyOf({ namespaces: {} }, 'own')).toBe(defaultNamespacePolicy)
})

test('`default` and `content` are built in, and `content` has one holder per resource', () => {
  const content = { ...defaultNamespacePolicy, exclusion: 'resource' }
  expect(defaultPolicy).toEqual({ namespaces: { default: defaultNamespacePolicy, content } })
  expect(builtInNamespace('content')).toEqual(content)
  expect(builtInNamespace('team')).toBe(defaultNamespacePolicy)
  expect(builtInNamespace('constructor')).toBe(defaultNamespacePolicy)
  const said = { namespaces: { content: { claimMs: 9 }, default: {} } }
  expect(completePolicy(said).namespaces.content).toEqual({ ...content, claimMs: 9 })
  expect(saidIn(completePolicy(said))).toEqual(said)
  const shared = { namespaces: { content: { exclusion: 'operation' }, default: {} } } as const
  expect(saidIn(completePolicy(shared))).toEqual(shared)
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

const lock = builtInOperations.lock!
const custom = { ...lock, keepMs: 7 }

test('only what is not as built in is kept, in an order of its own', () => {
  expect(saidIn(defaultPolicy)).toEqual({ namespaces: { default: {} } })
  const operations = {
    ...builtInOperations,
    zip: custom,
    pull: { ...builtInOperations.pull!, attempts: 3 },
    beat: lock,
  }
  const said = saidIn({
    namespaces: { b: { ...defaultNamespacePolicy, queueLimit: 5, claimMs: 9, operations }, a: defaultNamespacePolicy },
  })
  expect(said).toEqual({
    namespaces: {
      a: {},
      b: { claimMs: 9, queueLimit: 5, operations: { beat: {}, pull: { attempts: 3 }, zip: { keepMs: 7 } } },
    },
  })
  expect(JSON.stringify(said)).toBe(
    '{"namespaces":{"a":{},"b":{"claimMs":9,"queueLimit":5,"operations":{"beat":{},"pull":{"attempts":3},"zip":{"keepMs":7}}}}}',
  )
})

test('what was said is completed by the built-in rows and columns, and says the same again', () => {
  expect(completePolicy({ namespaces: {} })).toEqual(defaultPolicy)
  const said = { namespaces: { team: { queueing: false, operations: { pull: { attempts: 3 }, zip: { keepMs: 7 } } } } }
  const complete = completePolicy(said)
  expect(complete.namespaces.default).toEqual(defaultNamespacePolicy)
  expect(complete.namespaces.team).toEqual({
    ...defaultNamespacePolicy,
    queueing: false,
    operations: { ...builtInOperations, pull: { ...builtInOperations.pull, attempts: 3 }, zip: custom },
  })
  expect(saidIn(complete)).toEqual({ namespaces: { default: {}, ...said.namespaces } })
})

test('policies are the same where they say the same, in whatever order', () => {
  const of = (...names: string[]) => {
    const operations = Object.fromEntries(names.map((name) => [name, name === 'zip' ? custom : lock]))
    return { namespaces: { default: { ...defaultNamespacePolicy, operations } } }
  }
  expect(isSamePolicy(of('zip', 'beat'), of('beat', 'zip'))).toBe(true)
  expect(isSamePolicy(of('zip', 'beat'), of('zip'))).toBe(false)
  expect(isSamePolicy(defaultPolicy, { namespaces: { default: { ...defaultNamespacePolicy, claimMs: 1 } } })).toBe(
    false,
  )
})
