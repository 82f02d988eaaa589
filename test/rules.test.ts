import { spawnSync } from 'node:child_process'
import { appendFileSync, cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

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
  ['a timer in the core', 'export const t = () => setTimeout(() => {}, 1)', coreTypes],
  ['the process in the core', 'export const p = () => process.hrtime()', coreTypes],
  ['the wall clock in the core', 'export const n = () => Date.now()', lint],
  ['chance in the core', 'export const c = () => Math.random()', lint],
  ['waiting in the core', 'export const w = async (p: Promise<void>) => {\n  await p\n}', lint],
] as const

/** What must not be imported, by whom, and the rule that has to say so. */
const forbidden = [
  ['the core importing a node: module', 'core/turn.ts', 'node:fs', 'core-is-pure'],
  ['the core importing the service', 'core/turn.ts', '../service/index.ts', 'core-is-pure'],
  ['the service importing a store', 'service/timers.ts', '../stores/memory/index.ts', 'service-imports'],
  ['the client importing the server', 'client/transport.ts', '../server/index.ts', 'client-imports'],
  ['the client importing a store', 'client/in-process.ts', '../stores/memory/index.ts', 'stores-only-by-the-table'],
  ['main.ts importing a store', 'main.ts', './stores/memory/index.ts', 'stores-only-by-the-table'],
  ['the table importing an unused store', 'stores/table.ts', './memory/index.ts', 'the-table-loads-dynamically'],
  ['a store importing another one', 'stores/memory/kind.ts', '../file/index.ts', 'stores-know-no-other-store'],
  [
    'what is built importing what is not',
    'testing/random.ts',
    './unit/core-commands.ts',
    'only-tests-import-what-is-not-built',
  ],
  ['the command line importing a store', 'cli/index.ts', '../stores/memory/index.ts', 'cli-imports'],
  ['the command line importing a part of the content store', 'cli/index.ts', '../content/uses.ts', 'cli-imports'],
  ['the content store importing the server', 'content/digest.ts', '../server/index.ts', 'content-imports'],
  ['gRPC importing the content store', 'grpc/field.ts', '../content/digest.ts', 'grpc-imports'],
  ['a unit test importing from test/e2e', 'cli/exit.test.ts', '../../test/e2e/library.ts', 'units-know-no-e2e'],
] as const

const run = (command: readonly string[]) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, command, { cwd: copy, encoding: 'utf8' })
  return { status, output: stdout + stderr }
}

const append = (file: string, line: string) => appendFileSync(join(copy, 'src', file), `${line}\n`)
const restore = (file: string) => cpSync(join(root, 'src', file), join(copy, 'src', file))

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
  (_, line, command) => {
    append('core/turn.ts', line)
    try {
      const { status, output } = run(command)
      expect(status, output).not.toBe(0)
    } finally {
      restore('core/turn.ts')
    }
  },
  120_000,
)

// Rules look at one import at a time: all are broken at once, and each has to be named in what the check says.
describe('imports', () => {
  let said: ReturnType<typeof run>

  beforeAll(() => {
    for (const [, file, imported] of forbidden) append(file, `export * from '${imported}'`)
    said = run(imports)
    for (const [, file] of forbidden) restore(file)
  }, 120_000)

  test('the check fails', () => expect(said.status, said.output).not.toBe(0))

  test.each(forbidden)('%s is named', (_, file, imported, rule) => {
    const path = imported.startsWith('.') ? join(dirname(`src/${file}`), imported) : imported.replace('node:', '')
    expect(said.output).toContain(`error ${rule}: src/${file} → ${path}`)
  })
})
