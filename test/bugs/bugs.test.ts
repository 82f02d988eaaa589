import { expect, test } from 'vitest'
import { bugs } from './bugs.ts'
import { hunt } from './hunt.ts'

/** More than twice what the rarest of them took, wherever the hunt begins. */
const SEEDS = Number(process.env.BUG_SEEDS ?? 1_000)
/** The table of docs/guarantees.md: how many seeds it takes, from the first one on. */
const IS_TABLE = process.env.BUG_TABLE !== undefined
/** A hunt that has become so much longer should begin elsewhere. */
const FAR = 20

test.concurrent.each(bugs)('caught: $name', { timeout: 900_000 }, async (bug) => {
  const from = IS_TABLE ? 1 : (bug.from ?? 1)
  const { seed, invariant } = await hunt(bug, { from, seeds: SEEDS })
  if (IS_TABLE) console.log(`| ${bug.name} | ${invariant} | ${seed ?? 'not caught'} |`)
  else if (seed !== undefined && seed > from + FAR)
    console.log(`'${bug.name}' was hunted from seed ${from} to ${seed}: let it begin there (test/bugs/bugs.ts)`)
  expect(seed, `not caught in ${SEEDS} seeds from ${from}`).toBeDefined()
})
