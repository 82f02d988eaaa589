import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { bugs } from './bugs.ts'
import { hunt } from './hunt.ts'

/** More than twice what the rarest of them took, wherever the hunt begins. */
const SEEDS = Number(process.env.BUG_SEEDS ?? 1_000)
/** Hunts from the first seed on, prints the table of docs/guarantees.md, and remembers the seeds. */
const IS_REWRITTEN = process.env.REWRITE !== undefined
/** A hunt that has become so much longer should begin elsewhere. */
const FAR = 5

/**
 * For each bug the first of all seeds that caught it when this was written. The hunt begins there, which saves the time of those
 * before. A change of the simulator, or of what it runs, moves such seeds: then the hunt goes on from there.
 */
const path = fileURLToPath(new URL('seeds.json', import.meta.url))
const remembered: Record<string, number> = JSON.parse(readFileSync(path, 'utf8'))
const found = new Map<string, number>()

test.concurrent.each(bugs)('caught: $name', { timeout: 900_000 }, async (bug) => {
  const from = IS_REWRITTEN ? 1 : (remembered[bug.name] ?? 1)
  const { seed, invariant } = await hunt(bug, { from, seeds: SEEDS })
  if (IS_REWRITTEN) console.log(`| ${bug.name} | ${invariant} | ${seed ?? 'not caught'} |`)
  else if (seed !== undefined && seed > from + FAR)
    console.log(`'${bug.name}' was hunted from seed ${from} to ${seed}: \`npm run bugs:rewrite\` lets it begin there`)
  expect(seed, `not caught in ${SEEDS} seeds from ${from}`).toBeDefined()
  found.set(bug.name, seed!)
})

test('of no other bug a seed is remembered', () => {
  const names = bugs.map(({ name }) => name)
  expect(Object.keys(remembered).filter((name) => !names.includes(name) && !IS_REWRITTEN)).toEqual([])
})

afterAll(() => {
  if (!IS_REWRITTEN) return
  const all = bugs.flatMap(({ name }) => (found.has(name) ? [[name, found.get(name)]] : []))
  writeFileSync(path, `${JSON.stringify(Object.fromEntries(all), undefined, 2)}\n`)
})
