// needs: mariadb
import { type Mariadb, startMariadb } from '@baton-lock/faults/harness/mariadb'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { compile } from './compile.ts'
import { ENV, freshProject, type Project, published, run, sameVersion } from './fresh-project.ts'

let mariadb: Mariadb
let project: Project

beforeAll(async () => {
  mariadb = await startMariadb()
  project = await freshProject([...published.keys()], {
    sources: ['project', 'programs'],
    others: [sameVersion('@types/node')],
  })
}, 240_000)
afterAll(async () => {
  await project?.remove()
  await mariadb?.stop()
})

test('a backend of one’s own passes the conformance suite, and a server works over it', async () => {
  expect(await compile(project, 'typescript', ['-p', '.'])).toBe('')
  const names = ['own', ...Array.from({ length: 60 }, (_, index) => `backend_${index}`)]
  const databases: Record<string, string> = {}
  for (const name of names) databases[name] = await mariadb.createDatabase(name)
  const env = { ...ENV, DATABASES: JSON.stringify(databases) }
  const args = ['--test-reporter=tap', 'out/own-backend.mjs']
  const { stdout } = await run(process.execPath, args, { cwd: project.folder, env }).catch((error) => error)
  expect(stdout).toMatch(/^# fail 0$/m)
  expect(Number(/^# pass (\d+)$/m.exec(stdout)?.[1])).toBeGreaterThan(15)
}, 240_000)

test.each(['library.mjs', 'library.cjs'])('the installed store of MySQL works: %s', async (program) => {
  const url = await mariadb.createDatabase(`installed_${program.slice(-3)}`)
  const { stdout } = await project.node(program, url)
  expect(stdout).toBe('performed: written by 1, skipped: written by 1\n')
})
