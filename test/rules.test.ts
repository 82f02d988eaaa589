import { appendFileSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startProcess } from '@baton-lock/test-support/processes'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

/* The checks of the sources, run on a copy of the workspaces in which something is wrong. */

const root = fileURLToPath(new URL('..', import.meta.url))
let copy: string

beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), 'baton-rules-'))
  const isCopied = (path: string) => !/\/(node_modules|dist[^/]*|results)$/.test(path)
  for (const name of [
    'packages',
    'internal',
    '.biome',
    'biome.json',
    'tsconfig.json',
    '.dependency-cruiser.cjs',
    'package.json',
  ])
    cpSync(join(root, name), join(copy, name), { recursive: true, filter: isCopied })
  // The links to the workspaces are relative, and lead to the copies.
  mkdirSync(join(copy, 'node_modules'))
  for (const name of readdirSync(join(root, 'node_modules'))) {
    const [from, to] = [join(root, 'node_modules', name), join(copy, 'node_modules', name)]
    if (/^@?baton-lock$/.test(name)) cpSync(from, to, { recursive: true, verbatimSymlinks: true })
    else symlinkSync(from, to)
  }
})

afterAll(() => rmSync(copy, { recursive: true, force: true }))

const types = [process.execPath, 'node_modules/typescript/bin/tsc', '-p', 'packages/core/src']
const lint = [
  process.execPath,
  'node_modules/@biomejs/biome/bin/biome',
  'check',
  '--vcs-enabled=false',
  'packages/core/src',
]
const imports = ['npm', 'run', '--silent', 'imports']

async function run([command, ...args]: readonly string[]): Promise<{ readonly code: number | null; output: string }> {
  const { code, stdout, stderr } = await startProcess(command!, args, { cwd: copy }).ended
  return { code, output: stdout + stderr }
}

const append = (file: string, line: string) => appendFileSync(join(copy, file), `${line}\n`)
const restore = (file: string) => cpSync(join(root, file), join(copy, file))

const CORE = 'packages/core/src/turn.ts'

test.each([
  ['types', types],
  ['lint', lint],
])(
  'the %s of the core pass as they are',
  async (_, command) => {
    const { code, output } = await run(command)
    expect(code, output).toBe(0)
  },
  120_000,
)

test.each([
  ['a timer', 'export const t = () => setTimeout(() => {}, 1)', types],
  ['the process', 'export const p = () => process.hrtime()', types],
  ['the wall clock', 'export const n = () => Date.now()', lint],
  ['randomness', 'export const c = () => Math.random()', lint],
  ['an await', 'export const w = async (p: Promise<void>) => {\n  await p\n}', lint],
] as const)(
  '%s in the core is found',
  async (_, line, command) => {
    append(CORE, line)
    try {
      // Neither one that found nothing, nor one that could not run at all.
      expect([1, 2]).toContain((await run(command)).code)
    } finally {
      restore(CORE)
    }
  },
  120_000,
)

/** Imports that are forbidden, and the rule of .dependency-cruiser.cjs that says so. */
const forbidden = [
  ['core/src/turn.ts', 'node:fs', 'core-is-pure'],
  ['core/src/step.ts', '@baton-lock/protocol', 'core-is-pure'],
  ['core/src/state/actor.ts', '../step.ts', 'no-circular'],
  ['protocol/src/ids.ts', '@baton-lock/service', 'protocol-imports'],
  ['store/src/store.ts', '@baton-lock/protocol', 'store-imports'],
  ['store/src/resident/slot.ts', '../memory/index.ts', 'engines-know-no-store'],
  ['store/src/remote/letter.ts', '../file/index.ts', 'engines-know-no-store'],
  ['store-mysql/src/notifications/bell.ts', '@baton-lock/store-etcd', 'store-mysql-imports'],
  ['store-etcd/src/keys.ts', '@baton-lock/service', 'store-etcd-imports'],
  ['service/src/timers/timers.ts', '@baton-lock/server', 'service-imports'],
  ['client/src/clock.ts', '@baton-lock/service', 'client-imports'],
  ['client/src/random.ts', '@baton-lock/protocol/schemas', 'the-client-needs-no-zod'],
  ['server/src/app.ts', '@baton-lock/store/memory', 'server-imports'],
  ['server/src/dashboard.ts', '@baton-lock/dashboard/model/route', 'only-the-build-takes-the-dashboard'],
  ['dashboard/src/model/name.ts', '@baton-lock/client', 'dashboard-imports'],
  ['dashboard/src/model/route.ts', 'node:fs', 'dashboard-runs-in-a-browser'],
  ['containerd/src/blobs/digest.ts', '@baton-lock/server', 'containerd-imports'],
  ['containerd/src/blobs/uses.ts', 'baton-lock/cli', 'containerd-imports'],
  ['containerd/src/blobs/mark.ts', '@baton-lock/client/clock', 'published-packages-by-their-exports'],
  ['testing/src/index.ts', '@baton-lock/server', 'testing-imports'],
  ['baton-lock/src/cli/index.ts', '@baton-lock/faults/programs', 'baton-lock-imports'],
  ['baton-lock/src/open.ts', '@baton-lock/store-mysql', 'stores-are-loaded-when-used'],
  ['baton-lock/src/program.ts', '@baton-lock/containerd', 'stores-are-loaded-when-used'],
  ['client/src/lock.ts', '@baton-lock/test-support/client-world', 'no-test-code-in-products'],
  ['client/src/run.ts', './run.test.ts', 'no-test-code-in-products'],
  ['service/src/availability.ts', '@baton-lock/store/conformance/random', 'conformance-is-for-tests'],
  ['store/src/timing.ts', './conformance/eventually.ts', 'conformance-is-for-tests'],
] as const

// A rule looks at one import at a time, so one run is enough for all of them.
describe('the import', () => {
  let result: Awaited<ReturnType<typeof run>>

  beforeAll(async () => {
    for (const [file, imported] of forbidden) append(`packages/${file}`, `export * from '${imported}'`)
    append('packages/client/src/client.test.ts', "import '@baton-lock/server'")
    result = await run(imports)
  }, 120_000)

  test.each(forbidden)('in %s of %s is found', (file, _, rule) => {
    expect(result.code).not.toBe(0)
    expect(result.output).toContain(`error ${rule}: packages/${file} → `)
  })

  test('of a test may be any', () => {
    expect(result.output).not.toContain(': packages/client/src/client.test.ts → ')
  })
})
