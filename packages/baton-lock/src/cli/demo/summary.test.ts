import { expect, test } from 'vitest'
import { summarise } from './demo.ts'

type Entries = Parameters<typeof summarise>[0]
type Fetches = Parameters<typeof summarise>[1]

const LAYERS = [1, 2, 3, 4, 5, 6]

/** node-c is killed at layer 1; node-a takes over and fetches everything, and node-b skips it all. */
const entries: Entries = [
  { node: 'node-c', atMs: 100, report: { state: 'fetches', layer: 1, fence: 1, after: undefined } },
  { node: 'node-a', atMs: 200, report: { state: 'waits', layer: 1 } },
  { node: 'node-c', atMs: 300, report: { state: 'killed' } },
  { node: 'node-a', atMs: 2_300, report: { state: 'fetches', layer: 1, fence: 2, after: 'node-c expired' } },
  ...LAYERS.flatMap(
    (layer): Entries => [
      { node: 'node-a', atMs: 3_000, report: { state: 'fetched', layer } },
      { node: 'node-b', atMs: 3_000, report: { state: 'skipped', layer, by: 'node-a' } },
    ],
  ),
]
const fetches: Fetches = [
  { layer: 1, node: 'node-c', state: 'broken' },
  ...LAYERS.map((layer) => ({ layer, node: 'node-a', state: 'complete' }) as const),
]

test('the summary says who fetched each layer, who waited, who skipped, and who took over', () => {
  const { lines, isRight } = summarise(entries, fetches)
  expect(isRight).toBe(true)
  expect(lines.slice(0, 3)).toEqual([
    'LAYER  FETCHED BY  WAITED  SKIPPED',
    '1      node-a      node-a  node-b',
    '2      node-a              node-b',
  ])
  expect(lines.slice(-2)).toEqual([
    'node-c was killed while it fetched layer 1; node-a took over 2.0s later (its lease: 2.0s).',
    'Each of the 6 layers was fetched exactly once.',
  ])
})

test.each<[string, Fetches]>([
  ['fetched twice', [...fetches, { layer: 2, node: 'node-b', state: 'complete' }]],
  ['never fetched', fetches.slice(0, -1)],
  ['fetched in part', [...fetches.slice(0, -1), { layer: 6, node: 'node-a', state: 'broken' }]],
])('a layer that was %s is a bug', (_how, wrong) => {
  const { lines, isRight } = summarise(entries, wrong)
  expect(isRight).toBe(false)
  expect(lines.at(-1)).toMatch(/^This is a bug: 1 layers were not fetched exactly once/)
})

test('a layer that did not reach a living node is a bug', () => {
  expect(summarise(entries.slice(0, -1), fetches).isRight).toBe(false)
})

test('it is a bug if nobody took over', () => {
  const { lines, isRight } = summarise(entries.toSpliced(3, 1), fetches)
  expect(isRight).toBe(false)
  expect(lines.at(-2)).toMatch(/^This is a bug: nobody took over/)
})
