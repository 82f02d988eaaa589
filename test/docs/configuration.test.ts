import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { readConfigFile } from '../../src/cli/config/file.ts'
import { configurationTables } from './configuration-tables.ts'

/* docs/configuration.md has the tables that the code makes. `npm run docs:configuration` writes them. */

const path = fileURLToPath(new URL('../../docs/configuration.md', import.meta.url))
const TABLE = /<!-- table: (\w+) -->\n(.*?)\n?<!-- end -->/gs

test('the page has every table, as the code makes it', () => {
  const page = readFileSync(path, 'utf8')
  const actual = page.replaceAll(TABLE, (_, name: string) => {
    const made = configurationTables[name]
    return `<!-- table: ${name} -->\n\n${made ?? 'there is no such table'}\n\n<!-- end -->`
  })
  if (process.env.REWRITE) writeFileSync(path, actual)
  else expect(page).toBe(actual)
  expect([...page.matchAll(TABLE)].map(([, name]) => name)).toEqual(Object.keys(configurationTables))
})

test('every key of every table says what it is', () => {
  for (const rows of Object.values(configurationTables)) {
    const [, , ...lines] = rows.split('\n')
    for (const line of lines) expect(line).toMatch(/\| \S.* \| \S[^|]* \|$/)
  }
})

test('the file that the page shows is one that the server takes', () => {
  const [, text = ''] = /^```toml\n(.*?)^```/ms.exec(readFileSync(path, 'utf8')) ?? []
  const folder = mkdtempSync(join(tmpdir(), 'baton-page-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'baton.toml'), text)
  const { settings, tokens, quotas, policy } = readConfigFile(join(folder, 'baton.toml'))
  expect(settings).toMatchObject({ host: '0.0.0.0', port: '8086', resultLimit: '64KiB' })
  expect(tokens).toHaveLength(1)
  expect(quotas).toEqual({ node: { places: 10_000 } })
  expect(policy?.namespaces.default).toHaveProperty('operations.compile.attempts', 3)
})
