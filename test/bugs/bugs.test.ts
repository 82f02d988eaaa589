import { expect, test } from 'vitest'
import { bugs } from './bugs.ts'
import { hunt } from './hunt.ts'

/** Twice what the rarest of them took when docs/guarantees.md was written. */
const SEEDS = Number(process.env.BUG_SEEDS ?? 1_000)

test.concurrent.each(bugs)('caught: $name', { timeout: 300_000 }, async (bug) => {
  const { seeds, invariant } = await hunt(bug, SEEDS)
  if (process.env.BUG_TABLE) console.log(`| ${bug.name} | ${invariant} | ${seeds ?? 'not caught'} |`)
  expect(seeds, `not caught in ${SEEDS} seeds`).toBeDefined()
})
