import { expect, test } from 'vitest'
import { LIMITS } from './limits.ts'
import { policySchema } from './schemas.ts'

const named = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`n${index}`, {}]))

test('a policy has so many namespaces and rows at most', () => {
  const { policyNamespaces, policyRows } = LIMITS
  const isPolicy = (namespaces: object) => policySchema.safeParse({ namespaces }).success
  expect(isPolicy(named(policyNamespaces))).toBe(true)
  expect(isPolicy(named(policyNamespaces + 1))).toBe(false)
  expect(isPolicy({ default: { operations: named(policyRows) } })).toBe(true)
  expect(isPolicy({ default: { operations: named(policyRows + 1) } })).toBe(false)
})
