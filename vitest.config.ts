import { defineConfig } from 'vitest/config'
import { bugNamed, PLANTED_BUG, planting } from './internal/faults/bugs/planting.ts'

/** Packages import one another's sources. */
const conditions = ['@baton-lock/source', 'node', 'import', 'default']

const bug = process.env[PLANTED_BUG]

export default defineConfig({
  plugins: bug === undefined ? [] : [planting(bugNamed(bug))],
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ['packages/**/*.test.ts', 'internal/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: ['**/node_modules/**', '**/dist/**'],
    testTimeout: 30_000,
    maxConcurrency: 2,
    // On two cores vitest itself would take one.
    maxWorkers: 2,
  },
})
