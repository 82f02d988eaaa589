import { copyFile, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { consumerOf, root, run } from './consumer-project.ts'

/** The oldest TypeScript that is supported, the last 5, and the newest. */
const COMPILERS = ['typescript-5.4', 'typescript-5.9', 'typescript']

/** `nodenext` sees an ES module and a CommonJS one in one go, by their endings. */
const RESOLUTIONS = [
  { module: 'nodenext', moduleResolution: 'nodenext', sources: ['sdk.mts', 'sdk.cts'] },
  { module: 'esnext', moduleResolution: 'bundler', sources: ['sdk.mts'] },
]

let folder: string
beforeAll(async () => {
  ;({ folder } = await consumerOf('matrix'))
  await copyFile(join(folder, 'sdk.mts'), join(folder, 'sdk.cts'))
}, 60_000)
afterAll(() => rm(folder, { recursive: true, force: true }))

const node = (...args: string[]) => run(process.execPath, args, { cwd: folder })

describe.concurrent.each(COMPILERS)('%s', (compiler) => {
  // One in the middle resolves as its neighbours do.
  test.each(compiler === 'typescript-5.9' ? RESOLUTIONS.slice(0, 1) : RESOLUTIONS)(
    'compiles a consumer by $moduleResolution, declarations included',
    async ({ module, moduleResolution, sources }) => {
      const flags = ['--module', module, '--moduleResolution', moduleResolution, '--outDir', `${compiler}-${module}`]
      const language = ['--target', 'es2022', '--lib', 'es2023,esnext.disposable', '--types', 'node', '--strict']
      const tsc = join(root, 'node_modules', compiler, 'bin/tsc')
      // The declarations of packages are checked, those of the compiler itself are not.
      const checked = ['--skipLibCheck', 'false', '--skipDefaultLibCheck']
      const { stdout } = await node(tsc, ...flags, ...language, ...checked, ...sources).catch((error) => error)
      expect(stdout).toBe('')
    },
    120_000,
  )
})

test.each([
  ['an ES module', 'sdk.mjs', "import { report } from './typescript-nodenext/sdk.mjs'"],
  ['a CommonJS module', 'sdk.cjs', "const { report } = require('./typescript-nodenext/sdk.cjs')"],
])('what was compiled to %s runs, without a warning', async (_, file, take) => {
  const type = file.endsWith('.mjs') ? 'module' : 'commonjs'
  const program = `${take}\nreport().then((text) => console.log(text))`
  const { stdout, stderr } = await node(`--input-type=${type}`, '--eval', program)
  expect({ stdout, stderr }).toEqual({ stdout: 'written under 1, 1\n', stderr: '' })
})

test('`tsc` of this project is the newest one; where it is not, `npm ci` links it anew', async () => {
  const { version } = JSON.parse(await readFile(join(root, 'node_modules/typescript/package.json'), 'utf8'))
  const { stdout } = await run(join(root, 'node_modules/.bin/tsc'), ['--version'])
  expect(stdout.trim()).toBe(`Version ${version}`)
})
