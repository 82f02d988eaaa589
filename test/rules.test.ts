import { spawnSync } from 'node:child_process'
import { appendFileSync, cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'

/** A copy of the sources to break, checked by the very commands that `npm test` uses. */
const root = fileURLToPath(new URL('..', import.meta.url))
let copy: string

beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), 'baton-rules-'))
  for (const name of [
    'src',
    'test',
    '.biome',
    'biome.json',
    'tsconfig.json',
    '.dependency-cruiser.cjs',
    'package.json',
    '.gitignore',
  ]) {
    cpSync(join(root, name), join(copy, name), { recursive: true })
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
})

afterAll(() => rmSync(copy, { recursive: true, force: true }))

const coreTypes = ['node_modules/typescript/bin/tsc', '-p', 'src/core']
const lint = ['node_modules/@biomejs/biome/bin/biome', 'check', '--vcs-enabled=false', 'src/core']
const imports = [
  'node_modules/dependency-cruiser/bin/dependency-cruise.mjs',
  '--config',
  '.dependency-cruiser.cjs',
  'src',
]

const breaks = [
  ['a timer in the core', 'core/turn.ts', 'export const t = () => setTimeout(() => {}, 1)', coreTypes],
  ['the process in the core', 'core/turn.ts', 'export const p = () => process.hrtime()', coreTypes],
  ['the wall clock in the core', 'core/turn.ts', 'export const n = () => Date.now()', lint],
  ['chance in the core', 'core/turn.ts', 'export const c = () => Math.random()', lint],
  ['waiting in the core', 'core/turn.ts', 'export const w = async (p: Promise<void>) => {\n  await p\n}', lint],
  ['the core importing a node: module', 'core/turn.ts', "export * from 'node:fs'", imports],
  ['the core importing the service', 'core/turn.ts', "export * from '../service/index.ts'", imports],
  ['the service importing a store', 'service/timers.ts', "export * from '../stores/memory/index.ts'", imports],
  ['the client importing the server', 'client/transport.ts', "export * from '../server/index.ts'", imports],
  ['the client importing a store', 'client/in-process.ts', "export * from '../stores/memory/index.ts'", imports],
  ['main.ts importing a store', 'main.ts', "export * from './stores/memory/index.ts'", imports],
  ['the table importing a store that may not be used', 'stores/table.ts', "export * from './memory/index.ts'", imports],
  ['a store importing another one', 'stores/memory/kind.ts', "export * from '../file/index.ts'", imports],
  ['what is built importing what is not', 'testing/random.ts', "export * from './unit/core-commands.ts'", imports],
  ['the command line importing a store', 'cli/index.ts', "export * from '../stores/memory/index.ts'", imports],
  [
    'the command line importing a part of the content store',
    'cli/index.ts',
    "export * from '../content/uses.ts'",
    imports,
  ],
  ['the content store importing the server', 'content/digest.ts', "export * from '../server/index.ts'", imports],
  ['gRPC importing the content store', 'grpc/field.ts', "export * from '../content/digest.ts'", imports],
  ['a unit test importing from test/e2e', 'cli/exit.test.ts', "export * from '../../test/e2e/library.ts'", imports],
] as const

const run = (command: readonly string[]) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, command, { cwd: copy, encoding: 'utf8' })
  return { status, output: stdout + stderr }
}

test.each([
  ['types', coreTypes],
  ['lint', lint],
  ['imports', imports],
])(
  '%s pass as they are',
  (_, command) => {
    const { status, output } = run(command)
    expect(status, output).toBe(0)
  },
  120_000,
)

test.each(breaks)(
  '%s fails the check',
  (_, file, line, command) => {
    const path = join(copy, 'src', file)
    appendFileSync(path, `${line}\n`)
    try {
      const { status, output } = run(command)
      expect(status, output).not.toBe(0)
    } finally {
      cpSync(join(root, 'src', file), path)
    }
  },
  120_000,
)
