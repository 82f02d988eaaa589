import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

export const run = promisify(execFile)
export const root = fileURLToPath(new URL('../..', import.meta.url))

interface Packed {
  readonly filename: string
  readonly paths: readonly string[]
}

/** What `npm pack` says of the tarball that it would make, or has made in a folder. */
export async function pack(cwd: string, destination?: string): Promise<Packed> {
  const flags = destination === undefined ? ['--dry-run'] : ['--pack-destination', destination]
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', ...flags], { cwd })
  return packedIn(stdout)
}

/** The tarball of this project, in a folder that is given or where `npm test` has made it: it takes seconds, for every file that wants it. */
export async function packed(folder: string): Promise<Packed> {
  const report = process.env.BATON_TEST_PACKAGE
  const { filename, paths } = report ? packedIn(await readFile(report, 'utf8')) : await pack(root, folder)
  return { filename: join(report ? dirname(report) : folder, filename), paths }
}

function packedIn(report: string): Packed {
  const [{ filename, files }] = JSON.parse(report)
  return { filename, paths: files.map(({ path }: { path: string }) => path).sort() }
}

/** The package as it would be published, without its dependencies. */
export async function unpack(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  const { filename } = await packed(folder)
  await run('tar', ['-xzf', filename, '-C', folder, '--strip-components=1'])
}

/**
 * A project of somebody else, made of a folder beside this file. It has nothing but the package, as it would be published, and
 * its dependencies.
 */
export async function consumerOf(project: string): Promise<{ folder: string; installed: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'baton-consumer-'))
  await cp(fileURLToPath(new URL(project, import.meta.url)), folder, { recursive: true })
  const installed = join(folder, 'node_modules', 'baton')
  await unpack(installed)
  // As an install would, but without the network.
  const { dependencies } = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'))
  for (const name of [...Object.keys(dependencies), '@types/node']) {
    const link = join(folder, 'node_modules', name)
    await mkdir(dirname(link), { recursive: true })
    await symlink(join(root, 'node_modules', name), link)
  }
  return { folder, installed }
}
