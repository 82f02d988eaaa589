import { readdirSync, readFileSync, statSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startProcess } from '@baton-lock/test-support/processes'

export const root = fileURLToPath(new URL('../..', import.meta.url))

/** Takes away what npm and Node have set, and has programs run under the Node of the test. */
export const ENV: NodeJS.ProcessEnv = {
  ...Object.fromEntries(
    Object.keys(process.env)
      .filter((name) => /^(npm|node)_/i.test(name))
      .map((name) => [name, undefined]),
  ),
  PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
}

interface Output {
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program to its end. Throws an error with its output if it fails. */
export async function run(
  program: string,
  args: readonly string[],
  { cwd, env = ENV }: { readonly cwd: string; readonly env?: NodeJS.ProcessEnv },
): Promise<Output> {
  const { code, stdout, stderr } = await startProcess(program, args, { cwd, env }).ended
  if (code === 0) return { stdout, stderr }
  const error = new Error(`${[program, ...args].join(' ')} ended with ${code}: ${stderr}`)
  throw Object.assign(error, { stdout, stderr })
}

interface Manifest {
  readonly name: string
  readonly version: string
  readonly private?: boolean
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly exports: Readonly<Record<string, unknown>>
}

const readManifest = (folder: string): Manifest => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))

/** The packages that are published, by name: their folders. */
export const published: ReadonlyMap<string, string> = new Map(
  readdirSync(join(root, 'packages'))
    .map((name) => join(root, 'packages', name))
    .filter((folder) => !readManifest(folder).private)
    .map((folder) => [readManifest(folder).name, folder]),
)

/** The tarballs of all packages, by name. `npm test` has packed them; otherwise they are packed into this folder. */
export async function tarballs(folder: string): Promise<ReadonlyMap<string, string>> {
  const report = process.env.BATON_TEST_PACKAGE
  const target = report === undefined ? folder : dirname(report)
  const packed = report === undefined ? await pack(root, folder) : await readFile(report, 'utf8')
  const tarball = ({ name, filename }: { name: string; filename: string }) => [name, join(target, filename)] as const
  return new Map(JSON.parse(packed).map(tarball))
}

/** What `npm pack --json` prints for the published packages of a checkout. */
export async function pack(checkout: string, destination: string): Promise<string> {
  await mkdir(destination, { recursive: true })
  const workspaces = [...published.keys()].map((name) => `--workspace=${name}`)
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', destination, ...workspaces]
  return (await run('npm', args, { cwd: checkout, env: {} })).stdout
}

/** The same version of a package that this repository uses. */
export const sameVersion = (name: string): string => `${name}@${readManifest(join(root, 'node_modules', name)).version}`

/** A user's project in a temporary folder. */
export interface Project {
  readonly folder: string
  /** Runs Node in the folder. */
  node(...args: string[]): Promise<Output>
  /** Imports modules, or requires them, in a process of their own; returns what that prints. */
  load(names: readonly string[], options: { readonly isModule: boolean }): Promise<string>
  remove(): Promise<void>
}

interface ProjectOptions {
  /** Folders beside this file whose files the project consists of. */
  readonly sources?: readonly string[]
  /** npm packages beside those of Baton. */
  readonly others?: readonly string[]
}

/** Has npm install the tarballs of some packages, with their dependencies, into a new project. */
export async function freshProject(
  names: readonly string[],
  { sources = [], others = [] }: ProjectOptions = {},
): Promise<Project> {
  const folder = await mkdtemp(join(tmpdir(), 'baton-consumer-'))
  const project: Project = {
    folder,
    node: (...args) => run(process.execPath, args, { cwd: folder }),
    async load(names, { isModule }) {
      const attributesOf = (name: string) => (name.endsWith('.json') ? " with { type: 'json' }" : '')
      const lines = isModule
        ? names.map((name) => `import '${name}'${attributesOf(name)}`)
        : names.map((name) => `require('${name}')`)
      const type = `--input-type=${isModule ? 'module' : 'commonjs'}`
      // Node 20 warns of JSON modules.
      const { stdout, stderr } = await project.node('--no-warnings', type, '--eval', lines.join('\n'))
      return stdout + stderr
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  }
  try {
    await writeFile(join(folder, 'package.json'), '{ "name": "consumer", "private": true }\n')
    for (const source of sources) await cp(fileURLToPath(new URL(source, import.meta.url)), folder, { recursive: true })
    const files = await tarballs(join(folder, 'tarballs'))
    const own = new Set([...names, ...names.flatMap(dependenciesOf)].filter((name) => published.has(name)))
    await npmInstall(folder, [...[...own].map((name) => files.get(name)!), ...others])
    return project
  } catch (error) {
    await project.remove()
    throw error
  }
}

function dependenciesOf(name: string): readonly string[] {
  return Object.keys(readManifest(published.get(name)!).dependencies ?? {})
}

export async function npmInstall(cwd: string, specifiers: readonly string[]): Promise<void> {
  const flags = ['--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund']
  // scripts/test.mjs has set the variable aside.
  const ca = process.env.BATON_TEST_CA_CERTS
  const env = ca === undefined ? {} : { NODE_EXTRA_CA_CERTS: ca }
  await run('npm', ['install', ...flags, ...specifiers], { cwd, env })
}

/** The packages in `node_modules`, with the bytes of their files. */
export function installedIn({ folder }: Project): { readonly names: readonly string[]; readonly bytes: number } {
  const modules = join(folder, 'node_modules')
  const { packages } = JSON.parse(readFileSync(join(modules, '.package-lock.json'), 'utf8'))
  const files = readdirSync(modules, { recursive: true, withFileTypes: true }).filter((each) => each.isFile())
  const bytes = files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)
  return { names: Object.keys(packages).map((path) => path.replace(/^.*node_modules\//, '')), bytes }
}

/** The text that a program or a promise fails with. */
export const failureOf = (ends: Promise<unknown>): Promise<string> =>
  ends.then(
    () => 'did not fail',
    ({ stdout = '', stderr = '' }) => stdout + stderr,
  )

/** What a package exports, as users import it: `@baton-lock/client/internal`. */
export function subpathsOf(name: string): string[] {
  const { exports } = readManifest(published.get(name)!)
  const isBuilt = (target: unknown) => typeof target === 'string' || 'import' in (target as object)
  return Object.entries(exports)
    .filter(([, target]) => isBuilt(target))
    .map(([subpath]) => name + subpath.slice(1))
}
