import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/**
 * Stryker changes a copy of the repository, but `@baton-lock/core` in its node_modules still leads to the original: tests of
 * other packages would run without the change.
 */
const aliases = ['packages', 'internal'].flatMap((parent) => {
  const folder = fileURLToPath(new URL(parent, import.meta.url))
  return readdirSync(folder).flatMap((name) => [
    { find: new RegExp(`^@baton-lock/${name}$`), replacement: `${folder}/${name}/src/index.ts` },
    { find: new RegExp(`^@baton-lock/${name}/(.+)$`), replacement: `${folder}/${name}/src/$1` },
  ])
})

/** The tests that a mutant of the core has to get past: those of the core, the scenarios, the suite of the memory store, and the golden log. */
export default defineConfig({
  resolve: { alias: aliases },
  test: {
    include: [
      'packages/core/src/**/*.test.ts',
      'packages/store/src/memory/*.test.ts',
      'packages/core/scenarios/*.test.ts',
      'packages/store/test/golden-file.test.ts',
    ],
    // The same histories for every mutant, and few enough that a thousand mutants are done in an hour.
    env: { CORE_RUNS: '400', CORE_SEED: '1' },
    testTimeout: 30_000,
  },
})
