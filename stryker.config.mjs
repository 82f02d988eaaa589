/** Automatic mutation of the core: `npm run mutation`. What it found is in docs/guarantees.md. */
export default {
  testRunner: 'vitest',
  vitest: { configFile: 'vitest.mutation.config.ts' },
  mutate: ['packages/core/src/**/*.ts', '!packages/core/src/**/*.test.ts', '!packages/core/src/index.ts'],
  coverageAnalysis: 'perTest',
  concurrency: 2,
  timeoutMS: 20_000,
  tempDirName: '.stryker-tmp',
  // Stryker rewrites tsconfig files with TypeScript's own parser, which TypeScript 7 does not offer.
  tsconfigFile: 'no-tsconfig.json',
  reporters: ['json', 'clear-text', 'progress'],
  jsonReporter: { fileName: 'coverage/mutation.json' },
  clearTextReporter: { allowColor: false, reportTests: false },
}
