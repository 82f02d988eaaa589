import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { errors } from '@baton-lock/protocol/errors'
import { expect, test } from 'vitest'
import { readPage, root } from './page.ts'
import { readSources } from './sources.ts'

/* docs/operations.md quotes the log, error codes and figures as they are. Its commands: test/e2e/page-commands.test.ts. */

const page = readPage('docs/operations.md')
const section = (heading: string) => page.text.split(`\n## ${heading}\n`)[1]!.split('\n## ')[0]!
const sources = readSources()

test('every sentence of the log and every code that it names is said by the code', () => {
  const cells = [...section('When something goes wrong').matchAll(/^\| (.*?) \|/gm)].map(([, cell]) => cell!)
  const quoted = cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, text]) => text!))
  const unsaid = quoted.filter((text) => !(text in errors) && !sources.includes(text) && text !== '/readyz')
  expect(unsaid).toEqual([])
  expect(quoted.length).toBeGreaterThan(8)
})

test('its figures are those of the results', () => {
  const results = readFileSync(join(root, 'docs/performance.md'), 'utf8')
  const figure = (row: string) =>
    Number(new RegExp(`^\\| ${row} \\| ([\\d.,]+)`, 'm').exec(results)![1]!.replace(',', ''))
  const sizing = section('Sizing')
  const said = (row: string) => Number(new RegExp(`^\\| ${row} \\| ([\\d.,]+)`, 'm').exec(sizing)![1]!.replace(',', ''))
  // Rounded down to what anybody remembers.
  const isAbout = (round: number, exact: number) => round <= exact && round > exact * 0.95
  const near: [string, string][] = [
    ['lock and release, 256 callers at a time, state in memory', '256 callers'],
    ['the same, every one synced to the disk \\(`file:`\\)', 'durable, 256 callers'],
    ['the same on MariaDB, 32 callers', 'MySQL, library mode, 32 callers'],
    ['a lock that is held', '1000000 held locks, heap each'],
    ['somebody who waits', '100000 waiters on 1000 keys, heap each'],
  ]
  for (const [row, result] of near) expect([row, isAbout(said(row), figure(result))]).toEqual([row, true])
})
