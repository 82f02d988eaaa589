import type { WaitReason } from '@baton-lock/core'
import { placed } from '@baton-lock/protocol/stream/placed'
import { grantView, NOW_MS, pageRow, waiterView } from '@baton-lock/test-support/page-rows'
import { describe, expect, test } from 'vitest'
import { cutId } from './cut.ts'
import { summaryOf } from './list/summary.ts'
import { endedOf } from './resource/ended.ts'
import { nextStep } from './resource/next-step.ts'
import { progressOf } from './resource/progress.ts'
import { timelineOf } from './resource/timeline.ts'
import { hashOf, type PageRoute, routeFrom } from './route.ts'

describe('an id', () => {
  test('is cut in the middle, and shorter ones are not', () => {
    expect(cutId('sha256:0123456789', 17)).toBe('sha256:0123456789')
    expect(cutId('sha256:0123456789', 11)).toBe('sha256…6789')
  })

  test('is not cut through a character, and hides nothing', () => {
    expect(cutId('😀'.repeat(20), 5)).toBe('😀😀😀…😀')
    expect(cutId('a\u202eb\u0007c')).toBe('a\\u202eb c')
  })
})

describe('an address', () => {
  const list = routeFrom('') as Extract<PageRoute, { page: 'list' }>

  test.each<PageRoute>([
    { page: 'events' },
    { page: 'resource', namespace: 'team/a', resource: 'https://x.example/?q=1#2 %' },
    { ...list, filter: { text: 'a&b', namespace: 'n', operation: 'o', node: 'x', state: 'stuck' } },
    { ...list, order: { by: 'waiting', isReversed: true } },
    list,
  ])('says where one is: %o', (route) => expect(routeFrom(hashOf(route))).toEqual(route))

  test.each(['#/nowhere', '#/r/only-a-namespace', '#/r//', '#/?state=odd&order=odd', '#%'])(
    'that means nothing leads to the list: %s',
    (hash) => expect(routeFrom(hash)).toEqual(list),
  )
})

describe('progress', () => {
  test.each([
    [0.25, { share: 0.25, text: '25 %' }],
    [40, { share: 0.4, text: '40 %' }],
    [4_000, { text: '4000' }],
    ['70 % of layer 3', { share: 0.7, text: '70 % of layer 3' }],
    ['half-way\u001b[2J', { text: 'half-way [2J' }],
    [{ percent: 140 }, { share: 1, text: '140 %' }],
    [
      { bytes: 50, total: 200 },
      { share: 0.25, text: '25 %' },
    ],
    [{ bytes: 50, total: 0 }, { text: '{"bytes":50,"total":0}' }],
    [null, { text: 'null' }],
    [['a'], { text: '["a"]' }],
  ])('%j', (said, shown) => expect(progressOf(said)).toEqual(shown))
})

describe('what comes next', () => {
  const queue = (...reasons: WaitReason[]) => ({ operation: 'pull', waiting: 1, reasons })
  const waiters = [waiterView({ operation: 'other', node: 'x' }), waiterView()]
  const held: WaitReason = { why: 'held', operation: 'pull', node: 'node-a', fence: 1, forMs: 1 }

  test.each<[WaitReason[], RegExp]>([
    [[held], /^When node-a succeeds, .*; when it fails, node-b is next\.$/],
    [
      [held, { why: 'silent', node: 'node-a', forMs: 9_000, expiresInMs: 3_000 }],
      /in 3\.0s its lease ends, and node-b is granted/,
    ],
    [
      [{ why: 'unclaimed', operation: 'pull', node: 'node-c', passesOnInMs: 2_000 }],
      /within 2\.0s, it passes to node-b/,
    ],
    [[{ why: 'paused', operation: 'pull', forMs: 4_000, attempt: 3 }], /^In 4\.0s node-b is granted, as attempt 3\.$/],
  ])('%o', (reasons, text) => expect(nextStep(queue(...reasons), { waiters })).toMatch(text))

  test.each([
    ['skip', 1, 'When node-a succeeds, node-b skips; when it fails, node-b is next.'],
    [
      'skip',
      4,
      'When node-a succeeds, the 4 who wait skip, but for those of another revision; when it fails, node-b is next.',
    ],
    ['next', 4, 'When node-a succeeds, node-b is granted; when it fails, node-b is next.'],
  ] as const)('by a policy of %s, with %d in line', (onSuccess, waiting, text) =>
    expect(nextStep({ ...queue(held), waiting }, { waiters, onSuccess })).toBe(text),
  )

  test('is not said where it is not known', () => expect(nextStep(queue(), { waiters })).toBeUndefined())
})

test('each queue of a resource has places of its own', () => {
  const waiters = [waiterView(), waiterView({ operation: 'delete' }), waiterView({ node: 'node-c' })]
  expect(placed(waiters).map(({ position }) => position)).toEqual([1, 1, 2])
})

describe('a timeline', () => {
  const past = (fence: number, more = {}) => ({
    ...{ operation: 'pull', node: 'node-a', owner: 'o', fence, attempt: 1, handOver: false, skips: 0 },
    ...{ grantedAtMs: NOW_MS - 10_000 * (5 - fence), endedAtMs: NOW_MS - 10_000 * (5 - fence) + 5_000 },
    outcome: 'success' as const,
    ...more,
  })

  test('has a lane an operation, and bars between 0 and 1 in the order of time', () => {
    const running = { ...past(4), endedAtMs: undefined, outcome: undefined }
    const { lanes } = timelineOf([past(1), past(2, { operation: 'delete' }), past(3), running], 'all', NOW_MS)
    expect(lanes.map(({ operation }) => operation)).toEqual(['delete', 'pull'])
    const bars = lanes[1]!.bars
    expect(bars.map(({ outcome }) => outcome)).toEqual(['success', 'success', 'running'])
    expect(bars[2]!.to).toBe(1)
    for (const { from, to } of bars) expect(0 <= from && from <= to && to <= 1).toBe(true)
  })

  test('leaves out what ended before it begins, and says all of a grant in words', () => {
    const failed = past(4, {
      outcome: 'failure',
      error: 'no\nspace',
      attempt: 2,
      handOver: true,
      waitedMs: 2_000,
      skips: 3,
    })
    const { lanes } = timelineOf(
      [past(1, { endedAtMs: NOW_MS - 70_000, grantedAtMs: NOW_MS - 80_000 }), failed],
      '1 minute',
      NOW_MS,
    )
    expect(lanes.flatMap(({ bars }) => bars.map(({ text }) => text))).toEqual([
      'fence 4: pull by node-a, failure after 5.0s, no space, attempt 2, handed over after 2.0s in line, 3 skipped on it',
    ])
  })

  test('has a few round ticks, the last of them now', () => {
    const { ticks } = timelineOf([past(1)], '10 minutes', NOW_MS)
    expect(ticks.map(({ text }) => text)).toEqual(['now', '−2m', '−4m', '−6m', '−8m', '−10m'])
  })

  test('its ends and what is remembered are told once each, the newest first', () => {
    const outcome = { outcome: 'failure', error: 'no space' } as const
    const recent = [{ operation: 'pull', node: 'node-a', fence: 3, atMs: NOW_MS, outcome }]
    const { view } = pageRow('r', { recent })
    expect(endedOf(view, [past(2), past(3)]).map(({ fence, text }) => `${fence} ${text}`)).toEqual([
      '3 failure: no space',
      '2 success',
    ])
  })
})

test('a summary says who holds, why others wait and where to look', () => {
  const why = [
    {
      operation: 'pull',
      waiting: 1,
      reasons: [{ why: 'paused', operation: 'pull', forMs: 4_000, attempt: 2 } as const],
    },
  ]
  const row = pageRow('layer', { grants: [grantView({ expiresAtMs: NOW_MS + 20_000 })], waiters: [waiterView()], why })
  const detail = { address: row.view, row, grants: [], waiters: [] }
  expect(summaryOf(detail, { nowMs: NOW_MS, link: 'http://b/#/r/default/layer' })).toBe(
    [
      'layer (namespace default)',
      'held by node-a (pull, fence 7) for 10s, lease ends in 20s',
      '1 waiting for pull: paused after a failure, attempt 2 begins in 4.0s',
      'http://b/#/r/default/layer',
    ].join('\n'),
  )
})
