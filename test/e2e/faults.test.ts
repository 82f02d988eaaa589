import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'

const HARNESS = fileURLToPath(new URL('../../dist/testing/harness/cli.js', import.meta.url))
const children = new Set<ChildProcess>()

afterAll(() => {
  // It ends whatever it has started.
  for (const child of children) child.kill('SIGTERM')
})

function soak(...flags: string[]): Promise<{ code: number | null; output: string }> {
  if (!existsSync(HARNESS)) throw new Error(`${HARNESS} is missing: run \`npm run build\` first`)
  const child = spawn(process.execPath, [HARNESS, ...flags], { stdio: ['ignore', 'pipe', 'pipe'] })
  children.add(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
    })
  }
  return new Promise((resolve) =>
    child.on('close', (code) => {
      children.delete(child)
      resolve({ code, output })
    }),
  )
}

test('45 seconds of killed and stopped processes and broken networks: no violation, no stuck key', async () => {
  const { code, output } = await soak('--minutes', '0.75', '--clients', '12', '--seed', '1')
  console.log(output)
  expect(code, output).toBe(0)
  for (const fault of ['client killed', 'client stopped', 'server stopped', 'blackhole', 'reset', 'half-closed'])
    expect(output).toMatch(new RegExp(`[1-9]\\d* ${fault}`))
}, 300_000)

test('a storage that does not check fences is written to by holders that stalled, and the harness sees it', async () => {
  const { code, output } = await soak('--minutes', '0.3', '--clients', '10', '--seed', '2', '--no-fence-check')
  expect(code, output).toBe(1)
  const violations = [...output.matchAll(/^ {2}(\d+) (\w+ r\d): (.*)$/gm)]
  expect(violations.length, output).toBeGreaterThan(0)
  for (const [, invariant, , what] of violations)
    expect([invariant, what]).toEqual([
      '2',
      expect.stringMatching(/^a write with fence \d+ was accepted after one with/),
    ])
  const folder = /the histories are in (\S+)/.exec(output)?.[1]
  if (folder) rmSync(folder, { recursive: true })
}, 300_000)
