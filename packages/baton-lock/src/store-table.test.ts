import { readFileSync } from 'node:fs'
import type { StoreKind } from '@baton-lock/store/kind'
import { describe, expect, test } from 'vitest'
import { examplesOf, loadKind, openStore, rowOf, type StoreRow, storeTable } from './store-table.ts'

const clock = { nowMs: () => 0 }

test('a URL names a store by its scheme', () => {
  const urls = ['file:./data', 'memory:', 'mysql://u@h/d', 'mariadb://u@h/d']
  expect(urls.map((url) => rowOf(url).name)).toEqual(['file', 'memory', 'mysql', 'mysql'])
})

test('what names none is refused without what may be a password, and told what there is', () => {
  for (const url of ['redis://u:secret@h', 'constructor:', '__proto__:', 'mysql', '', ':']) {
    const sentence = `there is no store '${url.split(':')[0]}:'; use ${examplesOf(storeTable)}`
    expect(() => rowOf(url)).toThrow(new TypeError(sentence))
  }
})

test('examples are listed as in a sentence', () => {
  const rows = (...examples: string[]) => examples.map((example) => ({ example }) as StoreRow)
  expect(examplesOf(rows('a:'))).toBe('a:')
  expect(examplesOf(rows('a:', 'b:'))).toBe('a: or b:')
  expect(examplesOf(rows('a:', 'b:', 'c:'))).toBe('a:, b: or c:')
})

describe.each(storeTable)('$name', (row) => {
  test('its example is a URL of it, and no scheme is that of another store', () => {
    expect(rowOf(row.example)).toBe(row)
    for (const scheme of row.schemes) expect(rowOf(`${scheme}:x`)).toBe(row)
  })

  test('loads what its row promises', async () => {
    const kind = await loadKind(row)
    for (const method of ['open', 'check', 'raiseFences', 'backup', 'restore', 'create'] as const)
      expect(kind[method]).toBeTypeOf('function')
  })
})

test('opens the store that the URL names', async () => {
  const store = await openStore('memory:', { clock })
  expect(await store.counts()).toMatchObject({ resources: 0 })
  await store.close()
})

test('a URL that its own store does not understand is the fault of whoever wrote it', async () => {
  await expect(openStore('file:', { clock })).rejects.toThrow(TypeError)
  await expect(openStore('mysql://nowhere', { clock })).rejects.toThrow(TypeError)
})

describe('a store that cannot be loaded', () => {
  const row = rowOf('mysql:')
  const load = (message: string) => async (): Promise<{ kind: StoreKind }> => {
    throw Object.assign(new Error(message), { code: 'ERR_MODULE_NOT_FOUND' })
  }

  test('whose package is missing says which command installs it', async () => {
    const missing = loadKind({ ...row, load: load("Cannot find package '@baton-lock/store-mysql' imported from x.js") })
    await expect(missing).rejects.toThrow(
      'the store mysql needs the package @baton-lock/store-mysql. Install it: npm install @baton-lock/store-mysql',
    )
    await expect(missing).rejects.toThrow(TypeError)
  })

  test('for any other reason does not blame the package', async () => {
    const broken = loadKind({ ...row, load: load("Cannot find module 'dist/stores/mysql/bell.js' imported from x.js") })
    await expect(broken).rejects.toThrow(/bell\.js/)
  })
})

test('docs/stores.md lists the same stores with the same properties', () => {
  const docs = readFileSync(new URL('../../../docs/stores.md', import.meta.url), 'utf8')
  const listed = docs
    .slice(0, docs.indexOf('\n## '))
    .matchAll(/^\| \w[^|]*\| ([^|]+)\| (one process|several processes) *\| (its process|its own) *\|/gm)
  const rows = Array.from(listed, ([, urls = '', processes, clock]) => ({
    schemes: Array.from(urls.matchAll(/`(\w+):/g), ([, scheme]) => scheme),
    isShared: processes === 'several processes',
    clock: clock === 'its own' ? 'store' : 'process',
  }))
  expect(rows).toEqual(storeTable.map(({ schemes, isShared, clock }) => ({ schemes, isShared, clock })))
})
