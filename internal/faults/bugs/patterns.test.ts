import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Bug } from './bug.ts'
import { bugs } from './bugs.ts'
import { documentedRows, rememberedSeeds } from './catches.ts'
import { planted, root } from './planting.ts'

const names = bugs.map(({ name }) => name)

for (const bug of bugs) {
  test(`the text to be changed occurs exactly once: ${bug.name}`, () => {
    const source = readFileSync(join(root, bug.file), 'utf8')
    expect(planted(bug, source)).not.toBe(source)
  })
}

test('a text that occurs never or twice is refused', () => {
  const bug: Bug = { name: 'a bug', file: 'a.ts', find: 'a', replace: 'b', caughtBy: 'simulator' }
  expect(planted(bug, 'cat')).toBe('cbt')
  expect(() => planted(bug, 'dog')).toThrow("'a bug': a occurs 0 times in a.ts, not once")
  expect(() => planted(bug, 'data')).toThrow("'a bug': a occurs 2 times in a.ts, not once")
})

test('no two bugs share a name', () => {
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
})

test('the test files that catch bugs exist', () => {
  const files = bugs.flatMap(({ caughtBy }) => (caughtBy === 'simulator' ? [] : caughtBy.tests[0]))
  expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([])
})

test('seeds.json and docs/guarantees.md name every bug: if not, `npm run bugs:rewrite` writes them anew', () => {
  const seeds = rememberedSeeds()
  const hunted = bugs.filter(({ caughtBy }) => caughtBy === 'simulator').map(({ name }) => name)
  expect(Object.keys(seeds)).toEqual(hunted)
  const rows = documentedRows().map((row) => row.slice(1, -1).split('|'))
  expect(rows.map((cells) => cells.map((cell) => cell.trim()))).toEqual(
    bugs.map(({ name, caughtBy }) =>
      caughtBy === 'simulator' ? [name, expect.any(String), `${seeds[name]}`] : [name, caughtBy.tests[0], ''],
    ),
  )
})
