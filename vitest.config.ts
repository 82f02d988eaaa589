import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Two files run at a time: what takes long begins first, so that nothing long is left for one of the two at the end. */
const LONGEST = [
  'consumer/matrix',
  'mysql-faults',
  'e2e/faults',
  'e2e/content-away',
  'e2e/content.test',
  'e2e/content-faults',
  'e2e/content-cli',
  'e2e/file-store',
  'e2e/mysql',
  'e2e/examples',
  'e2e/fuzz',
  'e2e/cli',
  'core.property',
]

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const place = LONGEST.findIndex((name) => moduleId.includes(name))
      return place < 0 ? LONGEST.length : place
    }
    return (await super.sort(files)).sort((one, other) => rank(one) - rank(other))
  }
}

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    testTimeout: 30_000,
    maxConcurrency: 2,
    // On two cores vitest itself would take one.
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
  },
})
