import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { compile } from './compile.ts'
import { freshProject, type Project, published, sameVersion } from './fresh-project.ts'

/** The oldest TypeScript that is supported, the last 5, and the newest. */
const COMPILERS = ['typescript-5.4', 'typescript-5.9', 'typescript']

interface Resolution {
  readonly module: string
  readonly moduleResolution: string
  readonly sources: readonly string[]
}

/** `nodenext` compiles ES modules and CommonJS in one go, by their endings. */
const RESOLUTIONS: readonly Resolution[] = [
  { module: 'nodenext', moduleResolution: 'nodenext', sources: ['sdk.mts', 'sdk.cts', 'traces.mts', 'traces.cts'] },
  { module: 'esnext', moduleResolution: 'bundler', sources: ['sdk.mts', 'traces.mts'] },
]
/** `moduleResolution: node`, which the newest TypeScript no longer has. */
const NODE: Resolution = { module: 'commonjs', moduleResolution: 'node', sources: ['sdk.ts', 'traces.ts'] }

let project: Project
beforeAll(async () => {
  const others = ['@types/node', '@opentelemetry/api', '@opentelemetry/sdk-trace-base'].map(sameVersion)
  project = await freshProject([...published.keys()], { sources: ['project/src', 'traced'], others })
  for (const name of ['sdk', 'traces'])
    for (const ending of ['cts', 'ts'])
      await copyFile(join(project.folder, `${name}.mts`), join(project.folder, `${name}.${ending}`))
}, 120_000)
afterAll(() => project?.remove())

describe.each(COMPILERS)('%s', (compiler) => {
  test.each(compiler === 'typescript' ? RESOLUTIONS : [...RESOLUTIONS, NODE])(
    'compiles a consumer by $moduleResolution, declarations included',
    async ({ module, moduleResolution, sources }) => {
      const outDir = `${compiler}-${moduleResolution}`
      const flags = ['--module', module, '--moduleResolution', moduleResolution, '--outDir', outDir]
      expect(await compile(project, compiler, [...flags, ...sources])).toBe('')
    },
    180_000,
  )
})

const compiled = COMPILERS.flatMap((compiler) => [`${compiler}-nodenext/sdk.mjs`, `${compiler}-nodenext/sdk.cjs`])
const byNode = ['typescript-5.4-node/sdk.js', 'typescript-5.9-node/sdk.js']
test.each([...compiled, ...byNode])('%s runs, without a warning', async (file) => {
  const [type, take] = file.endsWith('.mjs')
    ? ['module', `import { report } from './${file}'`]
    : ['commonjs', `const { report } = require('./${file}')`]
  const program = `${take}\nreport().then((text) => console.log(text))`
  const { stdout, stderr } = await project.node(`--input-type=${type}`, '--eval', program)
  expect({ stdout, stderr }).toEqual({ stdout: 'written under 1, 1\n', stderr: '' })
})
