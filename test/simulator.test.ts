import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { filePlanOf, planOf } from '../src/testing/simulator/plan.ts'
import { simulate } from '../src/testing/simulator/simulate.ts'

const cli = fileURLToPath(new URL('../dist/testing/simulator/cli.js', import.meta.url))
const run = (...flags: string[]) => spawnSync(process.execPath, [cli, ...flags], { encoding: 'utf8' })

/* A thousand seeds in all. */
test('seven hundred seeds without a violation', { timeout: 900_000 }, () => {
  const { status, stdout, stderr } = run('--seeds', '700')
  console.log(stdout)
  expect(status, stdout + stderr).toBe(0)
})

test('three hundred seeds on a disk that forgets what was not synced, with crashes of the server', {
  timeout: 900_000,
}, () => {
  const { status, stdout, stderr } = run('--seeds', '300', '--store', 'file')
  console.log(stdout)
  expect(status, stdout + stderr).toBe(0)
})

test('the same seed gives the same history twice', { timeout: 120_000 }, async () => {
  for (const seed of [1, 2, 3]) {
    for (const plan of [planOf(seed), filePlanOf(seed)]) {
      const [first, second] = [await simulate(plan), await simulate(plan)]
      expect(second.hash).toBe(first.hash)
    }
  }
})

test('storage that does not check fences is violated under pauses', { timeout: 120_000 }, () => {
  const { status, stdout } = run('--seeds', '50', '--no-fence-check')
  expect(status).toBe(1)
  expect(stdout).toMatch(/violates invariant 2: .* was accepted after one with/)
})
