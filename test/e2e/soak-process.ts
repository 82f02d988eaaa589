import { rmSync } from 'node:fs'
import { execPath } from 'node:process'
import { PROGRAMS } from '@baton-lock/faults/programs'
import { expect, onTestFinished } from 'vitest'
import { startProgram } from './cli-process.ts'

export interface Soaked {
  readonly code: number | null
  readonly output: string
  /** What was violated: the invariant, the resource, and how. */
  readonly violations: readonly { readonly invariant: string; readonly resource: string; readonly what: string }[]
}

/** `npm run soak -- …`, on the build that is there. */
export async function soak(...flags: string[]): Promise<Soaked> {
  const running = startProgram(execPath, [PROGRAMS.soak, ...flags])
  // It ends whatever it has started.
  onTestFinished(() => running.kill('SIGTERM'))
  const { code, stdout, stderr } = await running.ended
  const output = stdout + stderr
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
