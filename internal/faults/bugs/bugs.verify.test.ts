// needs: mariadb
import { afterAll, expect, test } from 'vitest'
import { bugs } from './bugs.ts'
import { type Catch, remember, rememberedSeeds } from './catches.ts'
import { failingTests } from './failing-tests.ts'
import { hunt } from './hunt.ts'

/** Four times as many as the rarest bug takes from the first seed on. */
const SEEDS = Number(process.env.BUG_SEEDS ?? 1_000)
/** `npm run bugs:rewrite`: hunts from the first seed on, and writes the seeds and the table if every bug was caught. */
const IS_REWRITTEN = process.env.REWRITE !== undefined
/** A hunt that takes so many seeds more than it should begin elsewhere. */
const FAR = 5

/**
 * A hunt begins at the seed that caught the bug when the seeds were written. A change of the simulator, or of what it runs,
 * moves the seed: then the hunt continues from there.
 */
const seeds = rememberedSeeds()
const caught = new Map<string, Catch>()

// Some of these bugs are caught by tests that start a MariaDB (harness/mariadb.ts), so this file needs one too.

for (const bug of bugs) {
  const { name, caughtBy } = bug
  if (caughtBy === 'simulator') {
    test.concurrent(`the simulator catches: ${name}`, { timeout: 900_000 }, async () => {
      const from = IS_REWRITTEN ? 1 : (seeds[name] ?? 1)
      const { seed, invariant } = await hunt(bug, { from, seeds: SEEDS })
      if (seed !== undefined && seed > from + FAR && !IS_REWRITTEN)
        console.log(`'${name}' was hunted from seed ${from} to ${seed}: \`npm run bugs:rewrite\` lets it begin there`)
      expect(seed, `not caught in ${SEEDS} seeds from ${from}`).toBeDefined()
      caught.set(name, { by: invariant, seed: seed! })
    })
  } else {
    test.concurrent(`tests catch: ${name}`, { timeout: 600_000 }, async () => {
      const failed = await failingTests(bug, caughtBy.tests)
      expect(failed.length, `not caught by ${caughtBy.tests.join(' ')}`).toBeGreaterThan(0)
      caught.set(name, { by: caughtBy.tests[0] })
    })
  }
}

afterAll(() => {
  if (IS_REWRITTEN && caught.size === bugs.length) remember(bugs.map(({ name }) => [name, caught.get(name)!]))
})
