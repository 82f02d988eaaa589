import { copyFile, cp, mkdir, rm, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { consumerOf, root, run } from './consumer-project.ts'

const API = '@opentelemetry/api'

let folder: string
let installed: string

/** Somebody who records spans has these packages; everybody else does without. */
beforeAll(async () => {
  ;({ folder, installed } = await consumerOf('traced'))
  await mkdir(join(folder, 'node_modules/@opentelemetry'))
  for (const name of [API, '@opentelemetry/sdk-trace-base'])
    await symlink(join(root, 'node_modules', name), join(folder, 'node_modules', name))
  await copyFile(join(folder, 'traces.mts'), join(folder, 'traces.cts'))
}, 60_000)
afterAll(() => rm(folder, { recursive: true, force: true }))

const node = (...args: string[]) => run(process.execPath, args, { cwd: folder })

test('a tracer of OpenTelemetry is one to the oldest TypeScript that is supported', async () => {
  const flags = ['--module', 'nodenext', '--target', 'es2022', '--lib', 'es2023,esnext.disposable', '--strict']
  const tsc = join(root, 'node_modules/typescript-5.4/bin/tsc')
  const compiled = node(tsc, ...flags, '--types', 'node', '--skipLibCheck', 'traces.mts', 'traces.cts')
  expect((await compiled.catch((error) => error)).stdout).toBe('')
}, 120_000)

const programs = [
  ['an ES module', 'module', "import { names } from './traces.mjs'"],
  ['a CommonJS module', 'commonjs', "const { names } = require('./traces.cjs')"],
] as const

const spans = ['baton', 'mine'].flatMap((scope) => [`${scope}: baton ask lock`, `${scope}: baton work lock`])

test.each(programs)('%s has its spans, without a word to Baton', async (_, type, take) => {
  const program = `${take}\nnames().then((text) => console.log(text))`
  expect(await node(`--input-type=${type}`, '--eval', program)).toEqual({ stdout: `${spans.join(', ')}\n`, stderr: '' })
})

test('it has them too where Baton finds another copy of the package', async () => {
  const copy = join(installed, 'node_modules', API)
  await mkdir(dirname(copy), { recursive: true })
  await cp(join(root, 'node_modules', API), copy, { recursive: true })
  const [, type, take] = programs[0]
  const { stdout } = await node(`--input-type=${type}`, '--eval', `${take}\nconsole.log(await names())`)
  expect(stdout).toBe(`${spans.join(', ')}\n`)
})
