import { grantView, NOW_MS, pageRow, waiterView } from '@baton-lock/test-support/page-rows'
import { describe, expect, test } from 'vitest'
import type { Row } from '../resource/why.ts'
import { type Filter, NO_FILTER } from './filter.ts'
import { BY_URGENCY, type Order } from './order.ts'
import { select } from './selection.ts'

const kept = { operation: 'once', node: 'node-k', fence: 3, atMs: NOW_MS - 1_000, untilMs: NOW_MS + 60_000 }
const stuckWhy = [
  {
    operation: 'pull',
    waiting: 1,
    reasons: [{ why: 'silent', node: 'node-a', forMs: 9_000, expiresInMs: 1_000 } as const],
  },
]

const rows: readonly Row[] = [
  pageRow('kept', { kept: [kept] }),
  pageRow('used', { references: ['node-r', 'node-s'] }),
  pageRow('held-long', { grants: [grantView({ sinceMs: NOW_MS - 99_000, expiresAtMs: NOW_MS + 5_000 })] }),
  pageRow('held', { grants: [grantView({ expiresAtMs: NOW_MS + 9_000 })], namespace: 'team' }),
  pageRow('waited', { grants: [grantView()], waiters: [waiterView(), waiterView({ node: 'node-c' })] }),
  pageRow('stuck', { grants: [grantView()], waiters: [waiterView({ sinceMs: NOW_MS - 1_000 })], why: stuckWhy }),
]

const ids = (filter: Partial<Filter> = {}, order: Order = BY_URGENCY) =>
  select(rows, { filter: { ...NO_FILTER, ...filter }, order, nowMs: NOW_MS }).names.map((name) => name.split('\n')[1])

describe('the order', () => {
  test('those that want to be looked at come first', () =>
    expect(ids()).toEqual(['stuck', 'waited', 'held-long', 'held', 'kept', 'used']))

  test.each<[Order, string[]]>([
    [{ by: 'resource', isReversed: false }, ['held', 'held-long', 'kept']],
    [{ by: 'resource', isReversed: true }, ['waited', 'used', 'stuck']],
    [{ by: 'held', isReversed: false }, ['held-long', 'held', 'stuck']],
    [{ by: 'lease', isReversed: false }, ['held-long', 'held', 'kept']],
    [{ by: 'waiting', isReversed: false }, ['waited', 'stuck', 'held']],
    [{ by: 'references', isReversed: false }, ['used', 'held', 'held-long']],
  ])('by %o', (order, first) => expect(ids({}, order).slice(0, 3)).toEqual(first))
})

describe('the filter', () => {
  test.each<[Partial<Filter>, string[]]>([
    [{ state: 'stuck' }, ['stuck']],
    [{ state: 'waiting' }, ['stuck', 'waited']],
    [{ state: 'held' }, ['stuck', 'waited', 'held-long', 'held']],
    [{ state: 'kept' }, ['kept']],
    [{ state: 'referenced' }, ['used']],
    [{ text: 'HELD' }, ['held-long', 'held']],
    [{ text: 'held team' }, ['held']],
    [{ text: 'node-a long' }, ['held-long']],
    [{ namespace: 'team' }, ['held']],
    [{ operation: 'once' }, ['kept']],
    [{ node: 'node-s' }, ['used']],
    [{ node: 'node-c' }, ['waited']],
    [{ node: 'node' }, []],
  ])('%o', (filter, expected) => expect(ids(filter)).toEqual(expected))

  test('counts say what each state would show, whichever is chosen', () => {
    const { counts, namespaces, operations } = select(rows, {
      filter: { ...NO_FILTER, namespace: 'default', state: 'kept' },
      order: BY_URGENCY,
      nowMs: NOW_MS,
    })
    expect(counts).toEqual({ all: 5, stuck: 1, held: 3, waiting: 2, kept: 1, referenced: 1 })
    expect(namespaces).toEqual(['default', 'team'])
    expect(operations).toEqual(['once', 'pull'])
  })

  test('what was held within its usual time is stuck later, without being read again', () => {
    const held = { why: 'held', operation: 'pull', node: 'a', fence: 1, forMs: 1_000, usualMs: 2_000 } as const
    const row = pageRow('r', { waiters: [waiterView()], why: [{ operation: 'pull', waiting: 1, reasons: [held] }] })
    const at = (nowMs: number) =>
      select([row], { filter: { ...NO_FILTER, state: 'stuck' }, order: BY_URGENCY, nowMs }).names.length
    expect([at(NOW_MS), at(NOW_MS + 4_000), at(NOW_MS + 5_001)]).toEqual([0, 0, 1])
  })
})
