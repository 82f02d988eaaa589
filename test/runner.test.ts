import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { needs, planOf, testFiles } from '../scripts/test-plan.mjs'
import { failuresIn } from '../scripts/test-report.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const all = testFiles(root)

const files = [
  { path: 'packages/core/src/a.test.ts', needs: [] },
  { path: 'packages/store-mysql/src/b.test.ts', needs: ['mariadb'] },
  { path: 'test/e2e/c.test.ts', needs: ['openssl', 'strace'] },
  { path: 'test/e2e/d.verify.test.ts', needs: ['mount'] },
]
const pathsOf = ({ rounds }: ReturnType<typeof planOf>) => rounds.flat().flatMap(({ paths }) => paths)

test('every test file is run by exactly one of the two commands', () => {
  const plans = [[], ['--verify']].map((args) => pathsOf(planOf({ files: all, missing: [], args })))
  expect(plans.flat().sort()).toEqual(all.map(({ path }) => path))
})

test('what test files say they need is known', () => {
  for (const file of all) for (const need of file.needs) expect(needs, file.path).toHaveProperty(need)
  expect(all.filter((file) => file.needs.includes('etcd')).length).toBeGreaterThan(5)
})

test('with everything there, nothing is left out, and CI changes nothing', () => {
  for (const ci of [undefined, 'true'])
    expect(planOf({ files, missing: [], ci })).toMatchObject({ lines: [], isRefused: false })
})

test('a file whose program is missing is left out by name, with the way to get it', () => {
  const plan = planOf({ files, missing: ['my_print_defaults', 'mariadbd', 'strace'] })
  expect(pathsOf(plan)).toEqual(['packages/core/src/a.test.ts'])
  expect(plan.isRefused).toBe(false)
  expect(plan.lines).toEqual([
    'left out: packages/store-mysql/src/b.test.ts, which needs mariadbd and my_print_defaults (apt-get install mariadb-server-core mariadb-client-core)',
    'left out: test/e2e/c.test.ts, which needs strace (apt-get install strace)',
  ])
})

test('where nothing may be left out, such a plan is refused', () => {
  const missing = ['openssl']
  expect(planOf({ files, missing }).isRefused).toBe(false)
  expect(planOf({ files, missing, ci: '' }).isRefused).toBe(false)
  expect(planOf({ files, missing, ci: 'true' }).isRefused).toBe(true)
  expect(planOf({ files, missing, args: ['--all'] }).isRefused).toBe(true)
  expect(planOf({ files, missing, args: ['--verify'], ci: 'true' }).isRefused).toBe(false)
})

test('a part is run as asked for, whichever command it belongs to', () => {
  const part = planOf({ files, missing: ['openssl'], args: ['test/e2e', '--bail=1'] })
  expect(pathsOf(part)).toEqual(['test/e2e/d.verify.test.ts'])
  expect(part.flags).toEqual(['--bail=1'])
  expect(part.lines).toHaveLength(1)
  expect(planOf({ files, missing: ['openssl'], args: ['packages/core'], ci: 'true' }).isRefused).toBe(false)
})

test('each failure is told in a line with its file, and a file that cannot be run in one too', () => {
  const passed = { fullName: 'a holds', status: 'passed', failureMessages: [] }
  const failed = { fullName: 'b holds', status: 'failed', failureMessages: ['Error: 1 is not 2\n    at somewhere'] }
  const testResults = [
    { name: '/p/test/a.test.ts', status: 'passed', message: '', assertionResults: [passed] },
    { name: '/p/test/b.test.ts', status: 'failed', message: '', assertionResults: [passed, failed] },
    { name: '/p/test/c.test.ts', status: 'failed', message: '\nno such file', assertionResults: [] },
  ]
  expect(failuresIn({ testResults }, '/p')).toEqual([
    'failed: test/b.test.ts: b holds: Error: 1 is not 2',
    'failed: test/c.test.ts: no such file',
  ])
})
