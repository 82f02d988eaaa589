// Everything that must hold, in one run: types, lint, import rules, then every test. The last line counts the tests.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))

const bin = (path) => [process.execPath, join('node_modules', path)]
const checks = [
  ['what the tests need', process.execPath, 'scripts/setup-tests.mjs'],
  ['build', process.execPath, 'scripts/build.mjs'],
  ['types of the core, alone', ...bin('typescript/bin/tsc'), '-p', 'src/core'],
  ['types', ...bin('typescript/bin/tsc'), '-p', '.'],
  ['lint and format', ...bin('@biomejs/biome/bin/biome'), 'check', '--error-on-warnings', '.'],
  [
    'import rules',
    ...bin('dependency-cruiser/bin/dependency-cruise.mjs'),
    '--config',
    '.dependency-cruiser.cjs',
    'src',
  ],
]

for (const [name, command, ...args] of checks) {
  const startMs = Date.now()
  const { status } = spawnSync(command, args, { stdio: 'inherit' })
  console.log(`${status === 0 ? 'ok    ' : 'FAILED'} ${name} (${((Date.now() - startMs) / 1000).toFixed(1)} s)`)
  if (status !== 0) process.exit(1)
}

// Tests of real processes want the machine for themselves; the others share it.
const rounds =
  process.argv.length > 2
    ? [process.argv.slice(2)]
    : [
        ['src', 'test/scenarios', 'test/sdk', 'test/stores', 'test/rules'],
        ['--no-file-parallelism', 'test/e2e', 'test/simulator', 'test/bugs'],
      ]
const total = { passed: 0, failed: 0, skipped: 0 }
let broken = false
for (const round of rounds) {
  const folder = mkdtempSync(join(tmpdir(), 'baton-test-'))
  const report = join(folder, 'report.json')
  const [node, vitest] = bin('vitest/vitest.mjs')
  const args = ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`, ...round]
  const { status } = spawnSync(node, [vitest, ...args], { stdio: 'inherit' })
  const counts = JSON.parse(readFileSync(report, 'utf8'))
  rmSync(folder, { recursive: true })
  total.passed += counts.numPassedTests
  total.failed += counts.numFailedTests
  total.skipped += counts.numPendingTests + counts.numTodoTests
  broken ||= status !== 0
}
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`)
process.exit(broken ? 1 : 0)
