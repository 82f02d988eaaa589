import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { pageOf, root } from './page.ts'

/* The pages install packages that are published from here, and import from them what they export. */

interface Manifest {
  readonly name: string
  readonly private?: boolean
  readonly exports?: Readonly<Record<string, { readonly import?: { readonly types?: string } }>>
}

const manifests = readdirSync(join(root, 'packages'))
  .map((name) => join(root, 'packages', name, 'package.json'))
  .filter((path) => existsSync(path))
  .map((path): Manifest => JSON.parse(readFileSync(path, 'utf8')))
const published = manifests.filter((manifest) => !manifest.private)
/** What users can import: the exports with types. */
const entries = published.flatMap(({ name, exports = {} }) =>
  Object.entries(exports).flatMap(([path, target]) => (target.import?.types ? [name + path.slice(1)] : [])),
)

const pages = ['.', 'docs', 'docs/decisions', 'deploy', 'examples', 'examples/containerd', ...packageFolders()].flatMap(
  (folder) =>
    readdirSync(join(root, folder))
      .filter((name) => name.endsWith('.md'))
      .map((name) => join(folder, name)),
)
const texts = pages.map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))

function packageFolders(): string[] {
  return readdirSync(join(root, 'packages')).map((name) => join('packages', name))
}

const isOfBaton = (name: string) => /^(@baton-lock\/|baton\b)/.test(name)

test('what is installed or packed is published from here', () => {
  const named = texts.flatMap(({ path, text }) =>
    [...text.matchAll(/\bnpm (?:install|pack) ([^`#\n]+)/g)].flatMap(([, names]) =>
      names!
        .split(/\s+/)
        .filter((name) => isOfBaton(name))
        .map((name) => ({ path, name })),
    ),
  )
  const names = published.map(({ name }) => name)
  expect(named.filter(({ name }) => !names.includes(name))).toEqual([])
  expect(new Set(named.map(({ name }) => name)).size).toBeGreaterThanOrEqual(4)
})

const imports = texts.flatMap(({ path, text }) =>
  pageOf(text).blocks.flatMap(({ text: code }) =>
    [...code.matchAll(/^import (?:(type) )?\{([^}]+)\} from '([^']+)'/gm)].flatMap(([, type, names, from]) =>
      isOfBaton(from!) ? [{ path, from: from!, names: type ? [] : valuesIn(names!) }] : [],
    ),
  ),
)

function valuesIn(names: string): string[] {
  const all = names.split(',').map((name) => name.trim().split(' as ')[0]!)
  return all.filter((name) => name !== '' && !name.startsWith('type '))
}

test.each(imports)('$path imports $names from $from', async ({ from, names }) => {
  expect(entries).toContain(from)
  expect(Object.keys(await import(from))).toEqual(expect.arrayContaining(names))
})

test('no page requires or imports the package by the name of its command', () => {
  const wrong = texts.filter(({ text }) => /\b(?:require\(|import\(|from |import )'baton(?:\/[^']*)?'/.test(text))
  expect(wrong.map(({ path }) => path)).toEqual([])
  expect(imports.length).toBeGreaterThanOrEqual(4)
})
