import { startProcess } from '@baton-lock/test-support/processes'
import { expect, test } from 'vitest'
import { PROGRAMS } from '../src/programs.ts'
import { filePlanOf, planOf } from '../src/simulator/plan.ts'
import { simulate } from '../src/simulator/simulate.ts'

const cli = PROGRAMS.simulator
const run = (...flags: string[]) => startProcess(process.execPath, [cli, ...flags]).ended

test('140 seeds without a violation', { timeout: 300_000 }, async () => {
  const { code, stdout, stderr } = await run('--seeds', '140')
  console.log(stdout)
  expect(code, stdout + stderr).toBe(0)
})

test('60 seeds on a disk that forgets what was not synced, with crashes of the server', {
  timeout: 300_000,
}, async () => {
  const { code, stdout, stderr } = await run('--seeds', '60', '--store', 'file')
  console.log(stdout)
  expect(code, stdout + stderr).toBe(0)
})

test('the same seed gives the same history twice', { timeout: 120_000 }, async () => {
  for (const seed of [1, 2, 3]) {
    for (const plan of [planOf(seed), filePlanOf(seed)]) {
      const [first, second] = [await simulate(plan), await simulate(plan)]
      expect(second.hash).toBe(first.hash)
    }
  }
})

test('storage that does not check fences is violated under pauses', { timeout: 120_000 }, async () => {
  const { code, stdout } = await run('--seeds', '50', '--no-fence-check')
  expect(code).toBe(1)
  expect(stdout).toMatch(/violates invariant 2: .* was accepted after one with/)
})
