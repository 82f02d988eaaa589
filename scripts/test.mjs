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

const folder = mkdtempSync(join(tmpdir(), 'baton-test-'))
const report = join(folder, 'report.json')
const [node, vitest] = bin('vitest/vitest.mjs')
const args = ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`, ...process.argv.slice(2)]
const { status } = spawnSync(node, [vitest, ...args], { stdio: 'inherit' })
const { numPassedTests, numFailedTests, numPendingTests, numTodoTests } = JSON.parse(readFileSync(report, 'utf8'))
rmSync(folder, { recursive: true })
console.log(`${numPassedTests} passed, ${numFailedTests} failed, ${numPendingTests + numTodoTests} skipped`)
process.exit(status ?? 1)
