// Tests what users load on other versions of Node than this one: `npm run test:nodes`, or `npm run test:nodes -- 22` for one of them.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { nodeProgram } from '../internal/bench/lib/node-versions.mjs'
import { setUp } from './setup-tests.mjs'
import { planOf, testFiles } from './test-plan.mjs'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))

const VERSIONS = ['22', '24']
/** Units, scenarios, the SDK, the stores, and the packages as they are installed. */
const TESTS = [
  '/src/',
  'packages/core/scenarios/',
  'packages/client/test/',
  'packages/store/test/',
  'packages/store-mysql/test/',
  'packages/store-etcd/test/',
  'test/consumer/',
]

const versions = process.argv.slice(2)
const isMeant = ({ path }) => !path.endsWith('.verify.test.ts') && TESTS.some((part) => path.includes(part))
const files = testFiles('.').filter(isMeant)
const plan = planOf({ files, missing: setUp(files), args: TESTS, ci: process.env.CI })
if (plan.isRefused) {
  console.error([...plan.lines, 'FAILED: nothing may be left out where CI is set'].join('\n'))
  process.exit(1)
}

const paths = plan.rounds.flat().flatMap((lane) => lane.paths)
const failed = (versions.length > 0 ? versions : VERSIONS).filter((version) => {
  const program = nodeProgram(version)
  const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' })
  console.log(`Node ${stdout.trim()}: ${paths.length} files`)
  return spawnSync(program, ['node_modules/vitest/vitest.mjs', 'run', ...paths], { stdio: 'inherit' }).status !== 0
})
for (const line of plan.lines) console.log(line)
console.log(failed.length === 0 ? 'ok' : `FAILED on Node ${failed.join(' and ')}`)
process.exit(failed.length === 0 ? 0 : 1)
