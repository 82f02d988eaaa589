import { startProcess } from '@baton-lock/test-support/processes'
import { expect, test } from 'vitest'
import { PROGRAMS } from '../src/programs.ts'

/* Other seeds than those of `npm test`. */
test.each([
  ['', ['--from', '1001', '--seeds', '1400']],
  [' on a disk that forgets what was not synced', ['--from', '1001', '--seeds', '600', '--store', 'file']],
])('two thousand seeds without a violation%s', { timeout: 1_200_000 }, async (_, flags) => {
  const { code, stdout, stderr } = await startProcess(process.execPath, [PROGRAMS.simulator, ...flags]).ended
  console.log(stdout)
  expect(code, stdout + stderr).toBe(0)
})
