// needs: mariadb
import { type Mariadb, startMariadb } from '@baton-lock/faults/harness/mariadb'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readPage } from '../docs/page.ts'
import { killRest } from './cli-process.ts'
import { PageShell } from './page-shell.ts'

/* What README.md says below 'On MySQL or MariaDB': its statements make the database that its commands then use. */

const blocks = readPage('README.md').blocks.filter(({ heading }) => heading === 'On MySQL or MariaDB')
const [sql, commands] = ['sql', 'sh'].map((language) => blocks.filter((block) => block.language === language))

let mariadb: Mariadb
let shell: PageShell
beforeAll(async () => {
  mariadb = await startMariadb()
  shell = new PageShell({ BATON_NODE: 'node-a' }, { 'nightly.sh': 'echo "$BATON_NODE" >> nightly.log' })
}, 120_000)
afterAll(async () => {
  killRest()
  shell.remove()
  await mariadb.stop()
})

test('a user made by the statement runs the commands, with and without a server', async () => {
  expect([sql!.length, commands!.length, blocks.length]).toEqual([1, 1, 2])
  for (const statement of sql![0]!.text.split(';').filter((each) => each.trim() !== '')) await mariadb.query(statement)
  const text = commands![0]!.text.replace('db.example:3306', `127.0.0.1:${mariadb.port}`)
  const { code, stdout, stderr } = await shell.start(text).ended
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/^baton listening on http/)
  expect(shell.read('nightly.log')).toBe('node-a\n')
})
