import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfigFile } from 'baton-lock/cli/config/file'
import { expect, onTestFinished, test } from 'vitest'
import { configurationTables } from './configuration-tables.ts'
import { readPage, root } from './page.ts'
import { readSources } from './sources.ts'
import { expectTables } from './tables.ts'

/* docs/configuration.md has the tables that the code makes. `npm run docs:configuration` writes them. */

const path = 'docs/configuration.md'

test('the page has every table, as the code makes it', () => {
  expectTables(path, configurationTables)
})

test('every key of every table says what it is', () => {
  for (const rows of Object.values(configurationTables)) {
    const [, , ...lines] = rows.split('\n')
    for (const line of lines) expect(line).toMatch(/\| \S.* \| \S[^|]* \|$/)
  }
})

test('the file that the page shows is one that the server takes', () => {
  const { text } = readPage(path).blocks.find(({ language }) => language === 'toml')!
  const folder = mkdtempSync(join(tmpdir(), 'baton-page-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'baton.toml'), text)
  const { settings, tokens, quotas, policy } = readConfigFile(join(folder, 'baton.toml'))
  expect(settings).toMatchObject({ host: '0.0.0.0', port: '8086', resultLimit: '64KiB' })
  expect(tokens).toHaveLength(1)
  expect(quotas).toEqual({ node: { places: 10_000 } })
  expect(policy?.namespaces.default).toHaveProperty('operations.compile.attempts', 3)
})

test('every variable that the code knows is on some page', () => {
  const named = new Set(readSources().match(/\b(?:BATON_[A-Z_]*[A-Z]|PORT|ALLOW_MULTI_NODE_DOWNLOAD)\b/g))
  const docs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.md'),
  )
  const pages = ['README.md', 'CONTRIBUTING.md', ...docs.map((path) => `docs/${path}`)].map(
    (path) => readPage(path).text,
  )
  expect([...named].filter((name) => !pages.some((text) => text.includes(name)))).toEqual([])
})
