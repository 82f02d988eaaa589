// The tests of what users load, on other versions of Node than this one: `npm run test:nodes`, or `-- 22` for one of them.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { nodeProgram } from '../bench/lib/node-versions.mjs'
import { installMissing } from './setup-tests.mjs'
import { needs, planOf } from './test-plan.mjs'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))

const VERSIONS = ['22', '24']
/** Units, scenarios, the SDK and the file store. */
const TESTS = ['src', 'test/scenarios', 'test/sdk', 'test/stores', 'test/e2e/file-store']

const wanted = process.argv.slice(2)
const isMeant = ({ tests }) => tests.some((test) => TESTS.some((path) => test.includes(path)))
const plan = planOf({ missing: installMissing(needs.filter(isMeant)), args: TESTS, ci: process.env.CI })
if (plan.isRefused) {
  console.error([...plan.lines, 'FAILED: nothing may be left out where CI is set'].join('\n'))
  process.exit(1)
}

const excluded = plan.leftOut.map((test) => `--exclude=${test}`)
const failed = (wanted.length > 0 ? wanted : VERSIONS).filter((version) => {
  const program = nodeProgram(version)
  const { stdout: said } = spawnSync(program, ['--version'], { encoding: 'utf8' })
  console.log(`Node ${said.trim()}`)
  const args = ['node_modules/vitest/vitest.mjs', 'run', ...excluded, ...TESTS]
  return spawnSync(program, args, { stdio: 'inherit' }).status !== 0
})
for (const line of plan.lines) console.log(line)
console.log(failed.length === 0 ? 'ok' : `FAILED on Node ${failed.join(' and ')}`)
process.exit(failed.length === 0 ? 0 : 1)
