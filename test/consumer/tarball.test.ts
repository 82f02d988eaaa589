import { readdirSync, readFileSync } from 'node:fs'
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { reachable } from '../tidy/checks.ts'
import { entriesOf } from '../tidy/entries.ts'
import { readTree } from '../tidy/source-tree.ts'
import { pack, packed, root, run } from './consumer-project.ts'

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

let paths: readonly string[]
beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'baton-tarball-'))
  ;({ paths } = await packed(folder))
  await rm(folder, { recursive: true })
}, 60_000)

test('the tarball has what users can import or start, its declarations, the docs, and nothing else', () => {
  const sources = [...reachable(readTree(root, ['src']), entriesOf(root))]
  const built = sources.flatMap((path) =>
    ['.js', '.d.ts', '.d.cts'].map((ending) => path.replace('src/', 'dist/').replace(/\.ts$/, ending)),
  )
  const docs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => `docs/${path}`)
  // The command line is bundled.
  const isBundled = (path: string) => /^dist\/main\/[\w-]+\.js$/.test(path)
  // The dashboard too, each file also as it travels.
  const isPage = (path: string) => /^dist\/dashboard\/assets\/[\w-]+\.(js|css|svg)(\.br|\.gz)?$/.test(path)
  const whole = [
    'CHANGELOG.md',
    'LICENSE',
    'README.md',
    'README.zh-CN.md',
    'SECURITY.md',
    'package.json',
    'dist/main.js',
    'dist/main/LICENSES.txt',
    'dist/dashboard/LICENSES.txt',
    ...['', '.br', '.gz'].map((ending) => `dist/dashboard/index.html${ending}`),
  ]
  expect(paths.filter(isPage)).toHaveLength(9)
  expect(paths.filter((path) => !isBundled(path) && !isPage(path))).toEqual([...whole, ...docs, ...built].sort())
})

test('of the tests it has those of `baton/testing`, and what BATON_HISTORY needs', () => {
  expect(paths).toContain('dist/main/server-history.js')
  expect(paths).toContain('dist/testing/simulator/simulate.js')
  expect(paths.filter((path) => /\/harness\/|\/unit\/|\/simulator\/cli|\.test\.|\.map$/.test(path))).toEqual([])
})

test('a tarball is packed from a fresh build', () => {
  expect(manifest.scripts.prepack).toBe('node scripts/build.mjs')
})

/** Installing from git, npm clones, installs what it takes to build, and calls `prepare`. */
test('a clone from git builds itself, to the same tarball', async () => {
  const clone = await mkdtemp(join(tmpdir(), 'baton-clone-'))
  try {
    const { stdout } = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root })
    const isNeeded = (path: string) => path !== '' && !path.startsWith('test/')
    for (const path of stdout.split('\0').filter(isNeeded)) await cp(join(root, path), join(clone, path))
    await symlink(join(root, 'node_modules'), join(clone, 'node_modules'))
    await run('npm', ['run', 'prepare'], { cwd: clone })
    expect((await pack(clone)).paths).toEqual(paths)
  } finally {
    await rm(clone, { recursive: true })
  }
}, 60_000)
