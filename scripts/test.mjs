// `npm test`: types, lint, import rules and the tests. `npm run verify` (`--verify`): the tests that take longer. The last line
// counts the tests.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setUp } from './setup-tests.mjs'
import { planOf, testFiles } from './test-plan.mjs'
import { failuresIn, slowestIn } from './test-report.mjs'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))

const args = process.argv.slice(2)
const files = testFiles('.')
const plan = planOf({ files, missing: setUp(files), args, ci: process.env.CI })
if (plan.isRefused) {
  console.error([...plan.lines, 'FAILED: nothing may be left out with --all, or where CI is set'].join('\n'))
  process.exit(1)
}

// Node reads these at every start, for longer than all else that it does then, and the tests start very many processes. What
// they speak TLS with they make themselves. Only npm may need them, to reach its registry.
if (process.env.NODE_EXTRA_CA_CERTS) process.env.BATON_TEST_CA_CERTS = process.env.NODE_EXTRA_CA_CERTS
delete process.env.NODE_EXTRA_CA_CERTS

const bin = (path) => [process.execPath, join('node_modules', path)]
const folder = mkdtempSync(join(tmpdir(), 'baton-test-'))
const children = new Set()
process.on('exit', () => {
  for (const child of children) child.kill()
  rmSync(folder, { recursive: true })
})
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1))

const secondsSince = (startMs) => `${((Date.now() - startMs) / 1000).toFixed(1)} s`
await check('build', process.execPath, 'scripts/build.mjs')
if (process.exitCode) process.exit()
await Promise.all([packOnce(), ...(args.includes('--verify') ? [] : staticChecks())])
if (process.exitCode) process.exit()

const total = { passed: 0, failed: 0, skipped: 0 }
const failures = []
const slowest = []
let isBroken = false
for (const round of plan.rounds) await Promise.all(round.map((lane, index) => runTests(lane, { isBeside: index > 0 })))
slowest.sort((one, other) => other.seconds - one.seconds)
for (const { file, seconds } of slowest.slice(0, 10)) console.log(`${seconds.toFixed(1).padStart(6)} s ${file}`)
for (const line of [...plan.lines, ...failures]) console.log(line)
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`)
process.exit(isBroken ? 1 : 0)

/** One command that has to end well. What it says is shown when it is done. */
async function check(name, command, ...args) {
  const startMs = Date.now()
  const { status, output } = await run(command, args, { isShownLater: true })
  process.stdout.write(output)
  console.log(`${status === 0 ? 'ok    ' : 'FAILED'} ${name} (${secondsSince(startMs)})`)
  if (status !== 0) process.exitCode = 1
}

function staticChecks() {
  const imports = ['--config', '.dependency-cruiser.cjs', ...sourceFolders()]
  return [
    check('types of the core, alone', ...bin('typescript/bin/tsc'), '-p', 'packages/core/src'),
    check('types', ...bin('typescript/bin/tsc'), '-p', '.'),
    check('types of the page', ...bin('typescript/bin/tsc'), '-p', 'packages/dashboard/src'),
    check('lint and format', ...bin('@biomejs/biome/bin/biome'), 'check', '--error-on-warnings', '.'),
    check('import rules', ...bin('dependency-cruiser/bin/dependency-cruise.mjs'), ...imports),
  ]
}

function sourceFolders() {
  const folders = ['packages', 'internal'].flatMap((parent) =>
    readdirSync(parent).map((name) => `${parent}/${name}/src`),
  )
  return folders.filter((path) => existsSync(path))
}

/** The packages as they would be published: for all tests that look at them or install them. */
async function packOnce() {
  const report = join(folder, 'packages.json')
  const script = 'npm pack --json --ignore-scripts --workspaces --pack-destination "$1" > "$2"'
  await check('packages', 'sh', '-c', script, 'sh', folder, report)
  process.env.BATON_TEST_PACKAGE = report
}

/** One vitest. What runs beside another is shown when it is done. */
async function runTests({ name, paths, workers, nice }, { isBeside }) {
  const startMs = Date.now()
  const report = join(mkdtempSync(join(folder, 'run-')), 'report.json')
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  // To load the sources anew for every file takes longer than most of them run.
  const flags = [`--maxWorkers=${workers}`, '--no-isolate', ...plan.flags]
  const vitest = [...bin('vitest/vitest.mjs'), 'run', ...reporters, ...flags, ...paths]
  const [command, ...rest] = nice ? ['nice', '-n', `${nice}`, ...vitest] : vitest
  const { status, output } = await run(command, rest, { isShownLater: isBeside })
  process.stdout.write(output)
  console.log(`${status === 0 ? 'ok    ' : 'FAILED'} ${name}: ${paths.length} files (${secondsSince(startMs)})`)
  isBroken ||= status !== 0 || !existsSync(report)
  if (!existsSync(report)) return
  const counts = JSON.parse(readFileSync(report, 'utf8'))
  failures.push(...failuresIn(counts, process.cwd()))
  slowest.push(...slowestIn(counts, process.cwd()))
  total.passed += counts.numPassedTests
  total.failed += counts.numFailedTests
  total.skipped += counts.numPendingTests + counts.numTodoTests
}

async function run(command, args, { isShownLater }) {
  const stdio = ['ignore', ...(isShownLater ? ['pipe', 'pipe'] : ['inherit', 'inherit'])]
  const child = spawn(command, args, { stdio })
  children.add(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', (text) => (output += text))
  const status = await new Promise((resolve) => child.on('close', resolve))
  children.delete(child)
  return { status, output }
}
