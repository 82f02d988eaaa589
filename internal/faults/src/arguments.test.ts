import { startProcess } from '@baton-lock/test-support/processes'
import { expect, test } from 'vitest'
import { PROGRAMS } from './programs.ts'

const programs = (['simulator', 'soak', 'killRestart', 'contentPulls', 'attacks'] as const).map(
  (name) => PROGRAMS[name],
)

test.each(programs)('%s explains itself, with an example', async (program) => {
  const { code, stdout } = await startProcess(process.execPath, [program, '--help']).ended
  expect(code).toBe(0)
  expect(stdout).toMatch(/^npm run [a-z-]+ -- /m)
})

test('an unknown option is refused with the usage', async () => {
  const { code, stderr } = await startProcess(process.execPath, [PROGRAMS.simulator, '--sedes', '5']).ended
  expect(code).toBe(64)
  expect(stderr).toMatch(/'--sedes'[\s\S]*npm run sim -- --seeds/)
  expect(stderr).not.toContain('    at ')
})
