import { defineConfig } from 'vitest/config'

/** The tests that a mutant of the core has to get past: those of the core, the scenarios, the suite of the memory store, and the golden log. */
export default defineConfig({
  test: {
    include: [
      'packages/core/src/*.test.ts',
      'packages/store/src/memory/*.test.ts',
      'packages/core/scenarios/*.test.ts',
      'packages/store/test/golden-file.test.ts',
    ],
    // The same histories for every mutant, and few enough that a thousand mutants are done in an hour.
    env: { CORE_RUNS: '400', CORE_SEED: '1' },
    testTimeout: 30_000,
  },
})
