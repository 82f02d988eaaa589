import { expect, test } from 'vitest'
import type { Comparison, Operation, Txn } from '../etcd.ts'
import { flat, nested } from './nesting.ts'

const LIMIT = 128

function puts(count: number): Operation[] {
  return Array.from({ length: count }, (_, at) => ({ put: { key: `${at}`, value: '' } }))
}

function comparisons(count: number): Comparison[] {
  return Array.from({ length: count }, (_, at) => ({ key: `${at}`, target: 'mod', is: 'equal', revision: at }))
}

/** etcd's own rule: what is within may have what is left over. */
function isTaken({ compare, success, failure = [] }: Txn, limit = LIMIT): boolean {
  const width = Math.max(compare.length, success.length, failure.length)
  if (width > limit) return false
  return [...success, ...failure].every((each) => !('txn' in each) || isTaken(each.txn, limit - width))
}

test('what is small enough goes as it is', () => {
  const txn = { compare: comparisons(128), success: puts(128), failure: puts(128) }
  expect(nested(txn)).toBe(txn)
})

test.each([
  [0, 129, 0],
  [2, 3_600, 100],
  [98, 1_000, 128],
  [98, 128, 2_900],
  [64, 4_000, 4_000],
])(
  '%i comparisons, %i operations or %i others are put so that etcd takes them, in their order',
  (compare, success, failure) => {
    const txn = { compare: comparisons(compare), success: puts(success), failure: puts(failure) }
    expect(isTaken(txn)).toBe(false)
    const sent = nested(txn)
    expect(isTaken(sent)).toBe(true)
    for (const branch of ['success', 'failure'] as const) {
      const all = sent[branch]!.flatMap((each) => ('txn' in each ? each.txn.success : each))
      expect(all).toEqual(txn[branch])
    }
  },
)

test('what came of them is given in their own order', () => {
  const range = (count: number) => ({ range: { kvs: [], count } })
  const within = { succeeded: true, revision: 0, outcomes: [range(1), undefined] }
  const result = {
    succeeded: true,
    revision: 9,
    outcomes: [{ txn: within }, { txn: { ...within, outcomes: [range(3)] } }],
  }
  expect(flat(result).outcomes).toEqual([range(1), undefined, range(3)])
})
