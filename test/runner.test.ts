import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { needs, planOf, rounds } from '../scripts/test-plan.mjs'
import { failuresIn } from '../scripts/test-report.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const files = ['src', 'test']
  .flatMap((folder) => readdirSync(join(root, folder), { recursive: true }).map((name) => `${folder}/${name}`))
  .filter((name) => name.endsWith('.test.ts'))
const neededBy = (test: string) => needs.filter(({ tests }) => tests.includes(test)).map(({ name }) => name)

test('every test file is in exactly one round', () => {
  const runs = rounds.flat(2)
  for (const file of files)
    expect(
      runs.filter(({ tests, except = [] }) => tests.some((path) => file.includes(path)) && !except.includes(file)),
      file,
    ).toHaveLength(1)
})

/** What is never needed alone. */
const COMPANIONS = ['my_print_defaults', 'etcdctl', 'ctr', 'docker-registry', '/dev/fuse']
const MERGERFS = /examples\/containerd\/run|content-cluster\.ts|content-stage\.ts/
const CONTAINERD = new RegExp(`${MERGERFS.source}|containerd-node\\.ts`)

test('what needs a program stands in the table, and nothing else does', () => {
  const signs: [program: string, sign: RegExp][] = [
    ['mariadbd', /harness\/mariadb\.ts|from '\.\/mariadb\.ts'|'--store', 'mysql:'/],
    ['etcd', /harness\/etcd\.ts|startEtcd\b|'--store', 'etcd:'|'KILL', 'etcd'/],
    ['strace', /spawn(Sync)?\('strace'/],
    ['tmux', /run\('tmux'/],
    ['chromium', /from '\.\/browser\.ts'/],
    ['promtool', /spawnSync\('promtool'/],
    ['openssl', /unit\/certificates\.ts/],
    ['the right to mount a disk', new RegExp(`spawnSync\\('mount'|${CONTAINERD.source}`)],
    ['containerd', CONTAINERD],
    ['mergerfs', MERGERFS],
  ]
  for (const file of files.filter((name) => name !== 'test/runner.test.ts')) {
    const text = readFileSync(join(root, file), 'utf8')
    const expected = signs.filter(([, sign]) => sign.test(text)).map(([program]) => program)
    expect(
      neededBy(file)
        .filter((name) => !COMPANIONS.includes(name))
        .sort(),
      file,
    ).toEqual(expected.sort())
  }
  for (const { tests } of needs) expect(files).toEqual(expect.arrayContaining([...tests]))
})

test('with everything there, nothing is left out, and CI changes nothing', () => {
  for (const ci of [undefined, 'true'])
    expect(planOf({ missing: [], ci })).toEqual({ rounds, leftOut: [], lines: [], isRefused: false })
})

test('what a missing program keeps from running is named, with the program and the way to get it', () => {
  const {
    rounds: planned,
    leftOut,
    lines,
    isRefused,
  } = planOf({ missing: ['strace', 'my_print_defaults', 'mariadbd'] })
  expect([planned, isRefused]).toEqual([rounds, false])
  expect([...leftOut].sort()).toEqual(
    files.filter((file) => neededBy(file).some((name) => /mariadbd|strace/.test(name))).sort(),
  )
  const wants = 'for want of mariadbd and my_print_defaults (apt-get install mariadb-server-core mariadb-client-core)'
  expect(lines).toContain(`left out: test/stores/mysql.test.ts, ${wants}`)
  expect(lines).toContain('left out: test/e2e/file-sync-order.test.ts, for want of strace (apt-get install strace)')
})

test('where nothing may be left out, such a plan is refused', () => {
  const missing = ['openssl']
  expect(planOf({ missing }).isRefused).toBe(false)
  expect(planOf({ missing, ci: '' }).isRefused).toBe(false)
  expect(planOf({ missing, ci: 'true' }).isRefused).toBe(true)
  expect(planOf({ missing, args: ['--all'] })).toMatchObject({ isRefused: true, rounds })
})

test('a part is run as asked for, and only what belongs to it is said to be left out', () => {
  const missing = ['openssl', 'strace']
  const part = planOf({ missing, args: ['test/sdk'] })
  expect(part.rounds).toEqual([[[{ tests: ['test/sdk'], workers: 2 }]]])
  expect(part.leftOut).toEqual(['test/sdk/certificates.test.ts'])
  expect(planOf({ missing, args: ['test/sdk', '--bail=1'] }).leftOut).toEqual(planOf({ missing }).leftOut)
  expect(planOf({ missing, args: ['src/core'], ci: 'true' })).toMatchObject({ leftOut: [], isRefused: false })
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
