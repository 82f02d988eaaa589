import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { root } from './page.ts'

/* Tables of a page that are made from the code. They stand between two comments; with REWRITE in the environment they are written. */

const TABLE = /<!-- table: (\w+) -->\n(.*?)\n?<!-- end -->/gs

export function expectTables(path: string, tables: Readonly<Record<string, string>>): void {
  const page = readFileSync(join(root, path), 'utf8')
  const actual = page.replaceAll(TABLE, (_, name: string) => {
    return `<!-- table: ${name} -->\n\n${tables[name] ?? 'there is no such table'}\n\n<!-- end -->`
  })
  if (process.env.REWRITE) writeFileSync(join(root, path), actual)
  else expect(page).toBe(actual)
  expect([...page.matchAll(TABLE)].map(([, name]) => name)).toEqual(Object.keys(tables))
}

export function table(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(columns), line(columns.map(() => '---')), ...rows.map(line)].join('\n')
}

export const code = (text: string) => `\`${text}\``
