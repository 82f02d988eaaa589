import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { compile } from './compile.ts'
import { freshProject, installedIn, type Project, published, sameVersion, subpathsOf } from './fresh-project.ts'

/** A project that has all packages. */
let project: Project

beforeAll(async () => {
  project = await freshProject([...published.keys()], {
    sources: ['project', 'programs'],
    others: [sameVersion('@types/node')],
  })
  const { names, bytes } = installedIn(project)
  console.log(`all packages: ${names.length} packages, ${(bytes / 1_000_000).toFixed(2)} MB`)
}, 120_000)
afterAll(() => project?.remove())

/** Declarations that the examples in the READMEs assume. */
const GIVEN = `
declare function buildReport(): Promise<string>
declare function transfer(under: { signal: AbortSignal; fence: number }): Promise<void>
declare function download(digest: string, options: { from: number }): AsyncIterable<Uint8Array>
declare function openMyStore(options: object): import('baton-lock/stores').Store
declare const digest: string
declare const size: number
`

test('the newest TypeScript compiles it, with the declarations and the examples of the packages', async () => {
  for (const [name, folder] of published) {
    const [, example] = /```ts\n(.*?)```/s.exec(await readFile(join(folder, 'README.md'), 'utf8'))!
    await writeFile(join(project.folder, 'src', `readme-${name.replace('/', '-')}.mts`), example + GIVEN)
  }
  await writeFile(join(project.folder, 'src/sdk.cts'), await readFile(join(project.folder, 'src/sdk.mts')))
  expect(await compile(project, 'typescript', ['-p', '.'])).toBe('')
}, 120_000)

test.each(['library', 'server', 'backend'])('its program %s runs', async (program) => {
  expect(await project.node(`out/${program}.mjs`)).toEqual({ stdout: '', stderr: '' })
})

test.each([
  ['an ES module', "import { report } from './out/sdk.mjs'; console.log(await report())", 'module'],
  ['CommonJS', "require('./out/sdk.cjs').report().then(console.log)", 'commonjs'],
])('what was compiled to %s runs, without a warning', async (_, program, type) => {
  const { stdout, stderr } = await project.node(`--input-type=${type}`, '--eval', program)
  expect({ stdout, stderr }).toEqual({ stdout: 'written under 1, 1\n', stderr: '' })
})

test('the oldest TypeScript compiles it by `moduleResolution: node`, and the result runs', async () => {
  const { folder } = project
  await writeFile(join(folder, 'sdk.ts'), await readFile(join(folder, 'src/sdk.mts')))
  const flags = ['--module', 'commonjs', '--moduleResolution', 'node', '--outDir', 'out-node', 'sdk.ts']
  expect(await compile(project, 'typescript-5.4', flags)).toBe('')
  const { stdout } = await project.node('--eval', "require('./out-node/sdk.js').report().then(console.log)")
  expect(stdout).toBe('written under 1, 1\n')
}, 120_000)

test('its store passes the conformance suite under node:test', async () => {
  const { stdout } = await project.node('--test-reporter=tap', 'out/conformance.mjs')
  expect(stdout).toMatch(/^# fail 0$/m)
  expect(Number(/^# pass (\d+)$/m.exec(stdout)?.[1])).toBeGreaterThan(20)
}, 120_000)

test.each(['away.mjs', 'away.cjs'])(
  'stores in packages of their own are loaded with their drivers: %s',
  async (program) => {
    // Port 1 refuses connections.
    const { stdout } = await project.node(program, 'mysql://user@127.0.0.1:1/baton', 'etcd://127.0.0.1:1')
    const [mysql, etcd] = stdout.split('\n')
    expect(mysql).toMatch(/^UnavailableError: .*127\.0\.0\.1:1 .*ECONNREFUSED/)
    expect(etcd).toMatch(/^UnavailableError: .*127\.0\.0\.1:1/)
  },
)

test.each([
  ['imported', true],
  ['required', false],
])('all that the packages export can be %s', async (_, isModule) => {
  const names = [...published.keys()].flatMap(subpathsOf)
  expect(names.length).toBeGreaterThan(14)
  expect(await project.load(names, { isModule })).toBe('')
})
