import { existsSync } from 'node:fs'
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { consumerOf, root, run } from './consumer-project.ts'

let folder: string
let installed: string

beforeAll(async () => {
  ;({ folder, installed } = await consumerOf('project'))
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

test.each([
  ['imported', 'module', (name: string) => `await import('${name}')`],
  ['required', 'commonjs', (name: string) => `require('${name}')`],
])('every subpath can be %s; one that needs a driver says which', async (_, type, loading) => {
  const { exports, peerDependencies } = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'))
  const stores = await readdir(join(installed, 'dist/stores'), { withFileTypes: true })
  const open = stores.filter(({ name }) => existsSync(join(installed, 'dist/stores', name, 'index.js')))
  const subpaths = Object.keys(exports).flatMap((subpath) =>
    subpath.includes('*') ? open.map(({ name }) => subpath.replace('*', name)) : subpath,
  )
  const load = (subpath: string) =>
    node(`--input-type=${type}`, '--eval', loading(`baton${subpath.slice(1)}`)).then(
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
