import { copyFile, cp, mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { compile } from './compile.ts'
import { freshProject, type Project, sameVersion } from './fresh-project.ts'

const API = '@opentelemetry/api'

/** A project that records spans. */
let project: Project

beforeAll(async () => {
  const others = [API, '@opentelemetry/sdk-trace-base', '@types/node'].map(sameVersion)
  project = await freshProject(['baton-lock'], { sources: ['traced'], others })
  await copyFile(join(project.folder, 'traces.mts'), join(project.folder, 'traces.cts'))
}, 120_000)
afterAll(() => project?.remove())

test('a tracer of OpenTelemetry is one to the newest TypeScript', async () => {
  expect(await compile(project, 'typescript', ['--module', 'nodenext', 'traces.mts', 'traces.cts'])).toBe('')
}, 120_000)

const programs = [
  ['an ES module', 'module', "import { names } from './traces.mjs'"],
  ['a CommonJS module', 'commonjs', "const { names } = require('./traces.cjs')"],
] as const

const spans = ['baton', 'mine'].flatMap((scope) => [`${scope}: baton ask lock`, `${scope}: baton work lock`])

test.each(programs)('%s has its spans without any setting of Baton', async (_, type, take) => {
  const program = `${take}\nnames().then((text) => console.log(text))`
  const { stdout, stderr } = await project.node(`--input-type=${type}`, '--eval', program)
  expect({ stdout, stderr }).toEqual({ stdout: `${spans.join(', ')}\n`, stderr: '' })
})

test('it has them too where Baton finds another copy of the package', async () => {
  const modules = join(project.folder, 'node_modules')
  const copy = join(modules, '@baton-lock/client/node_modules', API)
  await mkdir(dirname(copy), { recursive: true })
  await cp(join(modules, API), copy, { recursive: true })
  const [, type, take] = programs[0]
  const { stdout } = await project.node(`--input-type=${type}`, '--eval', `${take}\nconsole.log(await names())`)
  expect(stdout).toBe(`${spans.join(', ')}\n`)
})
