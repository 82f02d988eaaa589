import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { builtinModules } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseAst } from 'rollup/parseAst'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { published, root, run, subpathsOf, tarballs } from './fresh-project.ts'

/** An unpacked tarball. */
interface Unpacked {
  readonly folder: string
  readonly paths: readonly string[]
}

/** The parts of a syntax node that can name a module. */
interface Syntax {
  readonly type: string
  readonly source?: { readonly value?: unknown }
  readonly callee?: { readonly name?: string }
  readonly arguments?: readonly { readonly value?: unknown }[]
}

let folder: string
const unpacked = new Map<string, Unpacked>()

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-tarballs-'))
  const files = await tarballs(folder)
  for (const name of published.keys()) {
    const target = join(folder, name.replace('/', '-'))
    await mkdir(target)
    await run('tar', ['-xzf', files.get(name)!, '-C', target, '--strip-components=1'], { cwd: folder })
    const entries = await readdir(target, { recursive: true, withFileTypes: true })
    const paths = entries
      .filter((each) => each.isFile())
      .map((each) => join(each.parentPath, each.name).slice(target.length + 1))
    unpacked.set(name, { folder: target, paths: paths.sort() })
  }
}, 120_000)
afterAll(() => rm(folder, { recursive: true, force: true }))

test('six packages are published', () => {
  const scope = ['client', 'containerd', 'store-etcd', 'store-mysql', 'testing'].map((name) => `@baton-lock/${name}`)
  expect([...published.keys()].sort()).toEqual([...scope, 'baton-lock'])
})

const BUILT = /^dist\/(chunks\/)?[\w-]+\.(js|cjs)$|^dist\/[\w-]+\.d\.c?ts$|^dist\/LICENSES\.txt$/
/** The dashboard, each file also as it travels. */
const PAGE =
  /^dist\/dashboard\/(index\.html|assets\/[\w-]+\.(js|css|svg))(\.br|\.gz)?$|^dist\/dashboard\/LICENSES\.txt$/
/** Native add-ons that ws, which is bundled, uses if they are installed. */
const NATIVE = ['bufferutil', 'utf-8-validate']

describe.each([...published.keys()])('the tarball of %s', (name) => {
  const textOf = (path: string) => readFile(join(unpacked.get(name)!.folder, path), 'utf8')
  const manifest = async () => JSON.parse(await textOf('package.json'))
  const scripts = () => unpacked.get(name)!.paths.filter((path) => /\.c?js$/.test(path) && !PAGE.test(path))

  test('has what its package.json names, a README, the licence, and nothing but the build beside them', async () => {
    const { paths } = unpacked.get(name)!
    const { exports, main, types, bin = {} } = await manifest()
    const named = [main, types, ...Object.values(bin), ...leavesOf(exports)].map((path) => path.replace('./', ''))
    const built = named.filter((path) => !path.startsWith('src/') && path !== 'package.json')
    expect(built.length).toBeGreaterThan(4)
    expect(paths).toEqual(expect.arrayContaining([...built, 'LICENSE', 'README.md', 'package.json']))
    const others = paths.filter((path) => !BUILT.test(path) && !PAGE.test(path))
    expect(others).toEqual(['LICENSE', 'README.md', 'package.json'])
    expect(paths.filter((path) => PAGE.test(path))).toHaveLength(name === 'baton-lock' ? 13 : 0)
  })

  test('is under the licence of the project', async () => {
    expect(await textOf('LICENSE')).toBe(await readFile(join(root, 'LICENSE'), 'utf8'))
    expect((await manifest()).license).toBe('MIT')
  })

  test('has a README of 10 to 40 lines that says how to install it, with an example and a link', async () => {
    const text = await textOf('README.md')
    const lines = text.trimEnd().split('\n')
    expect(lines.length).toBeGreaterThanOrEqual(10)
    expect(lines.length).toBeLessThanOrEqual(40)
    expect(lines[0]).toBe(`# ${name}`)
    expect(text).toMatch(new RegExp(`^npm install .*${name}$`, 'm'))
    expect(text).toContain('\n```ts\n')
    expect(text).toMatch(/\]\(\.\.\/\.\.\/docs\/[\w-]+\.md/)
  })

  test('imports only its dependencies, all of them, and what they export', async () => {
    const { dependencies = {}, peerDependencies = {} } = await manifest()
    const installed = [...Object.keys(dependencies), ...Object.keys(peerDependencies)]
    const specifiers = new Set<string>()
    for (const path of scripts()) for (const each of importsOf(await textOf(path))) specifiers.add(each)
    for (const each of NATIVE) specifiers.delete(each)
    const names = new Set([...specifiers].map(packageOf))
    expect([...names].sort()).toEqual(installed.sort())
    const own = [...specifiers].filter((specifier) => published.has(packageOf(specifier)))
    const exported = [...published.keys()].flatMap(subpathsOf)
    expect(own.filter((specifier) => !exported.includes(specifier))).toEqual([])
  })

  test('has the licence of every package that is bundled', async () => {
    const bundled = new Set<string>()
    for (const path of scripts()) for (const each of bundledIn(await textOf(path))) bundled.add(each)
    const licences = unpacked.get(name)!.paths.includes('dist/LICENSES.txt') ? await textOf('dist/LICENSES.txt') : ''
    const texts = licences === '' ? [] : licences.split(/\n-{80}\n\n/)
    const licensed = texts.map((text) => /^(\S+) \d+\.\d+\.\d+\n\n.*(?:permission|MIT License)/is.exec(text)?.[1])
    expect(licensed.sort()).toEqual([...bundled].sort())
  })
})

test('the packages of the command line are bundled into baton-lock; the drivers, and what else users install, are not', async () => {
  const licences = await readFile(join(unpacked.get('baton-lock')!.folder, 'dist/LICENSES.txt'), 'utf8')
  const names = licences.match(/^\S+(?= \d+\.\d+\.\d+$)/gm)
  expect(names).toEqual(expect.arrayContaining(['commander', 'pino', 'ws', 'zod']))
  for (const each of ['mysql2', '@grpc/grpc-js', 'protobufjs']) expect(names).not.toContain(each)
})

test('the dashboard comes with the licences of what is in it', async () => {
  const licences = await readFile(join(unpacked.get('baton-lock')!.folder, 'dist/dashboard/LICENSES.txt'), 'utf8')
  for (const name of ['preact', '@preact/signals', '@preact/signals-core'])
    expect(licences).toMatch(new RegExp(`^${name} \\d`, 'm'))
})

/** The paths at the leaves of `exports`. */
function leavesOf(target: unknown): string[] {
  if (typeof target === 'string') return [target]
  return Object.values(target as object).flatMap(leavesOf)
}

/** The specifiers of packages that a script imports or requires. */
function importsOf(text: string): string[] {
  return specifiersIn(parseAst(text)).filter(
    (specifier) => !/^(\.|node:)/.test(specifier) && !builtinModules.includes(packageOf(specifier)),
  )
}

/** `@baton-lock/client` for `@baton-lock/client/internal`. */
const packageOf = (specifier: string): string => /^(@[^/]+\/)?[^/]+/.exec(specifier)![0]

function specifiersIn(node: unknown): string[] {
  if (Array.isArray(node)) return node.flatMap(specifiersIn)
  if (typeof node !== 'object' || node === null) return []
  const { type, source, callee, arguments: given } = node as Syntax
  const isRequire = type === 'CallExpression' && /^(__)?require$/.test(callee?.name ?? '')
  const specifier = isRequire ? given?.[0]?.value : source?.value
  return [...(typeof specifier === 'string' ? [specifier] : []), ...Object.values(node).flatMap(specifiersIn)]
}

/** The packages whose files the bundler has put into a script, by the comments that it leaves. */
function bundledIn(text: string): string[] {
  const regions = text.matchAll(/^\s*\/\/ (?:#region )?.*node_modules\/((?:@[^/]+\/)?[^/]+)\//gm)
  return [...regions].map(([, name = '']) => name)
}
