import { spawn } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished } from 'vitest'

const HARNESS = fileURLToPath(new URL('../../dist/testing/harness/cli.js', import.meta.url))

export interface Soaked {
  readonly code: number | null
  readonly output: string
  /** What was violated: the invariant, the resource, and how. */
  readonly violations: readonly { readonly invariant: string; readonly resource: string; readonly what: string }[]
}

/** `npm run soak -- …`, on the build that is there. */
export async function soak(...flags: string[]): Promise<Soaked> {
  if (!existsSync(HARNESS)) throw new Error(`${HARNESS} is missing: run \`npm run build\` first`)
  const child = spawn(process.execPath, [HARNESS, ...flags], { stdio: ['ignore', 'pipe', 'pipe'] })
  // It ends whatever it has started.
  onTestFinished(() => void child.kill('SIGTERM'))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
    })
  }
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  const lines = [...output.matchAll(/^ {2}(\d+) ([^:\n]*): (.*)$/gm)]
  const violations = lines.map(([, invariant, resource, what]) => ({
    invariant: invariant!,
    resource: resource!,
    what: what!,
  }))
  return { code, output, violations }
}

/** Two observers were told the same, and what the history has. */
export function expectObserved({ output }: Soaked): void {
  for (const what of ['heard', 'compared with one another', 'compared with the history'])
    expect(output).toMatch(new RegExp(`[1-9]\\d* ${what}`))
}

/** In minutes. */
export const TWENTY_SECONDS = String(20 / 60)
/** What any run gets to; the harness itself asks more of longer ones. */
const WORK = ['grants', 'hand-overs', 'skips']

/** A run that met no such fault, or did not get to do such work, has shown nothing. */
export function expectMet(output: string, faults: readonly string[]): void {
  for (const each of [...faults, ...WORK]) expect(output).toMatch(new RegExp(`\\b[1-9]\\d* ${each}`))
}

/** For tests that mean to see a violation: nobody will look at its histories. */
export function forgetHistories({ output }: Soaked): void {
  const folder = /the histories are in (\S+)/.exec(output)?.[1]
  if (folder) rmSync(folder, { recursive: true })
}
