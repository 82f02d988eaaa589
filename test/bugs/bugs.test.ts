import { expect, test } from 'vitest'
import { bugs } from './bugs.ts'
import { hunt } from './hunt.ts'

/** Twice what the rarest of them took when docs/guarantees.md was written. */
const SEEDS = Number(process.env.BUG_SEEDS ?? 1_000)
/** The table of docs/guarantees.md. */
const IS_TABLE = process.env.BUG_TABLE !== undefined

test.concurrent.each(bugs)('caught: $name', { timeout: 900_000 }, async (bug) => {
  const { seed, invariant } = await hunt(bug, { from: 1, seeds: SEEDS })
  if (IS_TABLE) console.log(`| ${bug.name} | ${invariant} | ${seed ?? 'not caught'} |`)
  expect(seed, `not caught in ${SEEDS} seeds`).toBeDefined()
})
