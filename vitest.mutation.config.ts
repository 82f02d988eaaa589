import { defineConfig } from 'vitest/config'

/** The tests that a mutant of the core has to get past: those of the core, the scenarios, the suite of the memory store, and logs of the version before. */
export default defineConfig({
  test: {
    include: [
      'src/core/*.test.ts',
      'src/stores/memory/*.test.ts',
      'test/scenarios/*.test.ts',
      'test/stores/version-1-file.test.ts',
    ],
    // The same histories for every mutant, and few enough that a thousand mutants are done in an hour.
    env: { CORE_RUNS: '400', CORE_SEED: '1' },
    testTimeout: 30_000,
  },
})
