import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startProcess } from '@baton-lock/test-support/processes'
import type { Bug } from './bug.ts'
import { PLANTED_BUG, root } from './planting.ts'

/** A selection takes some seconds, but a bug may make tests hang until they time out. */
const LIMIT_MS = 300_000
const VITEST = 'node_modules/vitest/vitest.mjs'
/** The first failure ends the run. The cache would sort the tests of later runs by these failures. */
const FLAGS = ['--bail=1', '--maxWorkers=1', '--no-cache']

interface Report {
  readonly numPassedTests: number
  readonly testResults: readonly {
    readonly message: string
    readonly assertionResults: readonly { readonly status: string; readonly title: string }[]
  }[]
}

/** Runs tests with the bug and returns the names of those that fail. Throws if no test ran. */
export async function failingTests(bug: Bug, tests: readonly string[]): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'baton-bug-'))
  try {
    const report = join(folder, 'report.json')
    const output = await runVitest(bug, [...tests, ...FLAGS, '--reporter=json', `--outputFile.json=${report}`])
    if (!existsSync(report)) throw new Error(`'${bug.name}': vitest made no report\n${output}`)
    const { numPassedTests, testResults }: Report = JSON.parse(readFileSync(report, 'utf8'))
    const failed = testResults.flatMap(({ assertionResults }) => assertionResults.filter(isFailed))
    if (failed.length + numPassedTests > 0) return failed.map(({ title }) => title)
    throw new Error(`'${bug.name}': no test ran\n${testResults.map(({ message }) => message).join('\n')}`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const isFailed = ({ status }: { readonly status: string }) => status === 'failed'

async function runVitest(bug: Bug, args: readonly string[]): Promise<string> {
  const env = { [PLANTED_BUG]: bug.name }
  const started = startProcess(process.execPath, [VITEST, 'run', ...args], { cwd: root, env })
  const late = setTimeout(() => started.kill('SIGTERM'), LIMIT_MS)
  const { stdout, stderr } = await started.ended
  clearTimeout(late)
  return stdout + stderr
}
