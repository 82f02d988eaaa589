import { cp, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { pack, published, root, run, tarballs } from './fresh-project.ts'

/** All that is committed or would be, with the packages that `npm ci` would install. */
async function cloneTo(clone: string): Promise<void> {
  const { stdout } = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root })
  const isNeeded = (path: string) => path !== '' && !path.startsWith('test/')
  for (const path of stdout.split('\0').filter(isNeeded)) await cp(join(root, path), join(clone, path))
  const modules = join(clone, 'node_modules')
  await mkdir(join(modules, '@baton-lock'), { recursive: true })
  for (const name of await readdir(join(root, 'node_modules')))
    if (!/^@?baton-lock$/.test(name)) await symlink(join(root, 'node_modules', name), join(modules, name))
  for (const name of await readdir(join(clone, 'packages'))) {
    const link = name === 'baton-lock' ? name : join('@baton-lock', name)
    await symlink(join(clone, 'packages', name), join(modules, link))
  }
}

/** Without the hashes in their names: the chunks say where their packages are. */
async function filesIn(tarball: string): Promise<string[]> {
  const { stdout } = await run('tar', ['-tzf', tarball], { cwd: root })
  const paths = stdout.trim().split('\n')
  return paths.map((path) => path.replace(/(?<=\/chunks\/.*)-[\w-]{8}(?=\.c?js$)/, '')).sort()
}

/** `npm ci` in a clone calls `prepare`. */
test('a clone builds itself, to the same tarballs', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'baton-clone-'))
  try {
    const clone = join(folder, 'clone')
    await cloneTo(clone)
    await run('npm', ['run', 'prepare'], { cwd: clone })
    const packed: { name: string; filename: string }[] = JSON.parse(await pack(clone, join(folder, 'its')))
    const own = await tarballs(join(folder, 'own'))
    expect(packed.map(({ name }) => name).sort()).toEqual([...published.keys()].sort())
    for (const { name, filename } of packed)
      expect(await filesIn(join(folder, 'its', filename)), name).toEqual(await filesIn(own.get(name)!))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}, 180_000)
