// needs: mariadb
import { expect, test } from 'vitest'
import { expectMet, expectObserved, forgetHistories, soak, TWENTY_SECONDS } from './soak-process.ts'

const DATABASE_FAULTS = ['database killed', 'database stopped', 'connection killed']

/** A seed that brings every kind of fault within some seconds. */
const SEED = '67'

test('three servers on a MariaDB that is killed and stopped, as they are: no violation, no stuck key, no deadlock', async () => {
  const flags = ['--store', 'mysql:', '--servers', '3', '--kill-servers', '--clients', '6', '--seed', SEED, '--observe']
  const soaked = await soak('--minutes', TWENTY_SECONDS, ...flags)
  const { code, output } = soaked
  console.log(output)
  expect(code, output).toBe(0)
  const inCommit = 'connection killed in its commit'
  expectMet(output, [
    ...DATABASE_FAULTS,
    inCommit,
    'server killed',
    'server stopped',
    'client killed',
    'client stopped',
  ])
  expectObserved(soaked)
}, 300_000)

test('processes without a server, on a MariaDB that is killed and stopped, as they are: the same', async () => {
  const flags = ['--store', 'mysql:', '--library', '--clients', '6', '--seed', '2', '--observe']
  const soaked = await soak('--minutes', TWENTY_SECONDS, ...flags)
  const { code, output } = soaked
  console.log(output)
  expect(code, output).toBe(0)
  // Few connections are killed in so short a run of so few processes: whether one is in its commit is chance.
  expectMet(output, [...DATABASE_FAULTS, 'client killed', 'client stopped'])
  expectObserved(soaked)
}, 300_000)

test('a MariaDB that forgets what it has committed is seen', async () => {
  const flags = ['--store', 'mysql:', '--library', '--clients', '4', '--seed', '6', '--no-database-sync']
  const soaked = await soak('--minutes', '0.2', ...flags)
  const { code, output, violations } = soaked
  expect(code, output).toBe(1)
  expect(output).toMatch(/[1-9]\d* database killed/)
  expect(violations.map(({ invariant, what }) => `${invariant} ${what}`)).toContainEqual(
    expect.stringMatching(/^12 at .* was answered .*, and is gone$/),
  )
  forgetHistories(soaked)
}, 300_000)
