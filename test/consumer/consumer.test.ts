import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
const project = fileURLToPath(new URL('project', import.meta.url))
let folder: string
let installed: string

/** A project of somebody else, which has nothing but the package, as it would be published, and its dependencies. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-consumer-'))
  await cp(project, folder, { recursive: true })
  const packed = join(folder, 'packed')
  await mkdir(packed)
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', packed], {
    cwd: root,
  })
  const [{ filename }] = JSON.parse(stdout)
  installed = join(folder, 'node_modules', 'baton')
  await mkdir(installed, { recursive: true })
  await run('tar', ['-xzf', join(packed, filename), '-C', installed, '--strip-components=1'])
  // As an install would, but without the network.
  const { dependencies } = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'))
  for (const name of [...Object.keys(dependencies), '@types/node']) {
    const link = join(folder, 'node_modules', name)
    await mkdir(dirname(link), { recursive: true })
    await symlink(join(root, 'node_modules', name), link)
  }
}, 60_000)

afterAll(() => rm(folder, { recursive: true, force: true }))

const node = (...args: string[]) => run(process.execPath, args, { cwd: folder })

test('it compiles, the declarations of the package included', async () => {
  const { stdout } = await node(join(root, 'node_modules/typescript/bin/tsc'), '-p', '.').catch((error) => error)
  expect(stdout).toBe('')
}, 60_000)

test.each(['library', 'server', 'backend', 'simulator'])('its program %s runs', async (program) => {
  expect(await node(`out/${program}.js`)).toEqual({ stdout: '', stderr: '' })
})

test('its store passes the conformance suite under node:test', async () => {
  const { stdout } = await node('--test-reporter=tap', 'out/conformance.js')
  expect(stdout).toMatch(/^# fail 0$/m)
  expect(Number(/^# pass (\d+)$/m.exec(stdout)?.[1])).toBeGreaterThan(20)
}, 120_000)

test('every subpath can be imported; one that needs a driver says which', async () => {
  const { exports, peerDependencies } = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'))
  const stores = await readdir(join(installed, 'dist/stores'), { withFileTypes: true })
  const open = stores.filter(({ name }) => existsSync(join(installed, 'dist/stores', name, 'index.js')))
  const subpaths = Object.keys(exports).flatMap((subpath) =>
    subpath.includes('*') ? open.map(({ name }) => subpath.replace('*', name)) : subpath,
  )
  const load = (subpath: string) =>
    node('--input-type=module', '--eval', `await import('baton${subpath.slice(1)}')`).then(
      () => 'loaded',
      ({ stderr }) => /Cannot find package '(.*?)'/.exec(stderr)?.[1] ?? stderr,
    )
  const ends = new Map(await Promise.all(subpaths.map(async (each) => [each, await load(each)] as const)))
  for (const each of ['.', './core', './server', './stores', './stores/remote', './testing'])
    expect([each, ends.get(each)]).toEqual([each, 'loaded'])
  for (const end of ends.values()) expect(['loaded', ...Object.keys(peerDependencies)]).toContain(end)
})

test('what is no part of the interface cannot be imported', async () => {
  const inside = node('--input-type=module', '--eval', "import 'baton/dist/stores/table.js'")
  await expect(inside).rejects.toThrow('ERR_PACKAGE_PATH_NOT_EXPORTED')
})
