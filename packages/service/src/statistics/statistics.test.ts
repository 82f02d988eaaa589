import { builtInOperations, defaultNamespacePolicy, defaultPolicy, plainOperation } from '@baton-lock/core'
import { seen } from '@baton-lock/test-support/seen-events'
import { expect, test } from 'vitest'
import { Statistics } from './statistics.ts'

const START_MS = 1_000_000
const newStatistics = () => new Statistics({ sinceMs: START_MS })
const seriesIn = (statistics: Statistics) =>
  [...statistics.series()].map(({ namespace, operation, grants }) => `${namespace} ${operation} ${grants}`)

test('what the policy does not name is other: namespaces, and operations by the rows of their namespace', () => {
  const statistics = newStatistics()
  for (const namespace of ['default', 'made-up', 'made-up-too'])
    for (const operation of ['pull', 'image-layer']) statistics.see(seen.granted({ namespace, operation }))
  expect(seriesIn(statistics)).toEqual(['default pull 1', 'default other 1', 'other pull 2', 'other other 2'])
})

test('names that askers make up make neither series nor windows without end', () => {
  const statistics = newStatistics()
  for (let index = 0; index < 3_000; index++) {
    statistics.see(seen.granted({ namespace: `n${index}` }))
    statistics.see(seen.granted({ operation: `o${index}` }))
  }
  expect(seriesIn(statistics)).toEqual(['other pull 3000', 'default other 3000'])
  // The namespaces of which nothing was heard for longest are forgotten: it is not said that nothing has happened in them.
  expect(statistics.overview('n2999', START_MS).totals.grants).toBe(1)
  expect(statistics.overview('n1', START_MS + 9_000)).toMatchObject({
    sinceMs: START_MS + 9_000,
    totals: { grants: 0 },
  })
})

test('a policy with very many names has so many series and no more', () => {
  const operations = Object.fromEntries(Array.from({ length: 1_500 }, (_, index) => [`o${index}`, plainOperation]))
  const statistics = new Statistics({
    sinceMs: START_MS,
    policy: { namespaces: { default: { ...defaultNamespacePolicy, operations } } },
  })
  for (const operation of Object.keys(operations)) statistics.see(seen.granted({ operation }))
  expect(seriesIn(statistics)).toHaveLength(501)
  expect(seriesIn(statistics)).toContain('other other 1000')
})

test('a policy that is applied names others from then on', () => {
  const statistics = newStatistics()
  const bake = seen.granted({ operation: 'bake' })
  const pull = seen.granted({ namespace: 'team' })
  for (const event of [bake, pull, pull]) statistics.see(event)
  expect(seriesIn(statistics)).toEqual(['default other 1', 'other pull 2'])
  const operations = { ...builtInOperations, bake: plainOperation }
  statistics.use({ namespaces: { default: { ...defaultNamespacePolicy, operations }, team: defaultNamespacePolicy } })
  for (const event of [bake, pull]) statistics.see(event)
  expect(seriesIn(statistics).sort()).toEqual(['default bake 1', 'default other 1', 'other pull 2', 'team pull 1'])
  // What no policy names any more is not shown for ever.
  statistics.use(defaultPolicy)
  expect(seriesIn(statistics).sort()).toEqual(['default other 1', 'other pull 2'])
})

test('series count what this process has caused, overviews and the usual time what all have', () => {
  const statistics = newStatistics()
  const where = { atMs: START_MS }
  for (const elsewhere of [false, true, true]) {
    statistics.see(seen.granted({ ...where, waitedMs: 20 }), elsewhere)
    for (let times = 0; times < 2; times++) statistics.see(seen.ended({ ...where, heldMs: 3_000 }), elsewhere)
    statistics.see(seen.told({ ...where, waited: [30, 40] }), elsewhere)
  }
  const [series] = statistics.series()
  expect(series).toMatchObject({ grants: 1, handOvers: 1, skips: 2, outcomes: { success: 2, failure: 0 } })
  expect(series!.waiting.sum).toBeCloseTo(0.09)
  expect(series!.holding.sum).toBeCloseTo(6)
  const { totals } = statistics.overview(undefined, START_MS)
  expect(totals).toEqual({ grants: 3, handOvers: 3, skips: 6, successes: 6, failures: 0, expired: 0 })
  expect(statistics.usualMs('default', 'pull')).toBe(3_000)
})

test('the usual time is the median of the last 64 successes, and nothing is said before there are five', () => {
  const statistics = newStatistics()
  const held = (heldMs: number) => statistics.see(seen.ended({ heldMs }))
  for (const heldMs of [1, 100, 3, 4]) held(heldMs)
  statistics.see(seen.ended({ heldMs: 9, outcome: { outcome: 'failure', error: 'boom' } }))
  expect(statistics.usualMs('default', 'pull')).toBeUndefined()
  held(5)
  expect(statistics.usualMs('default', 'pull')).toBe(4)
  held(7)
  expect(statistics.usualMs('default', 'pull')).toBe(4.5)
  for (let times = 0; times < 64; times++) held(1_000)
  expect(statistics.usualMs('default', 'pull')).toBe(1_000)
  expect(statistics.usualMs('default', 'update')).toBeUndefined()
  expect(statistics.usualMs('elsewhere', 'pull')).toBeUndefined()
})

test('times go to the bucket whose bound they do not exceed', () => {
  const statistics = newStatistics()
  for (const waitedMs of [5, 5.1, 21_600_000, 21_600_001]) statistics.see(seen.granted({ waitedMs }))
  const { waiting } = [...statistics.series()][0]!
  expect([waiting.counts[0], waiting.counts[1], waiting.counts.at(-2), waiting.counts.at(-1)]).toEqual([1, 1, 1, 1])
  expect(waiting.counts).toHaveLength(waiting.bounds.length + 1)
})

test('a namespace is shown what has happened in it, and nothing of others', () => {
  const statistics = newStatistics()
  const at = { atMs: START_MS + 1 }
  statistics.see(seen.granted({ ...at, namespace: 'one' }))
  statistics.skipped({ namespace: 'two', resource: 'r' }, { operation: 'pull', fence: 1, ...at })
  statistics.see(seen.queued({ ...at, namespace: 'two' }))
  const shown = (namespace?: string) => statistics.overview(namespace, START_MS + 2)
  expect(shown('one').totals).toMatchObject({ grants: 1, skips: 0 })
  expect(shown('two').totals).toMatchObject({ grants: 0, skips: 1 })
  expect(shown().totals).toMatchObject({ grants: 1, skips: 1 })
  expect([shown('one'), shown('two'), shown()].map(({ points }) => points.at(-1)!.waiting)).toEqual([0, 1, 1])
  expect(shown('three')).toMatchObject({ sinceMs: START_MS, totals: { grants: 0 }, points: [{ grants: 0 }] })
})
