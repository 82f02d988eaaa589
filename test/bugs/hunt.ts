import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { linkSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Bug } from './bugs.ts'

/** A simulator that has not been through with a seed for so long never will: on a busy machine a hunt as a whole may take its time. */
const STUCK_MS = 120_000
const root = fileURLToPath(new URL('../..', import.meta.url))

export interface Catch {
  /** The seed that caught it; nothing where it got away. */
  readonly seed: number | undefined
  readonly invariant: string
}

export interface SeedRange {
  readonly from: number
  readonly seeds: number
}

/** Builds the bug into a copy of dist/ and lets the simulator look for it. */
export async function hunt(bug: Bug | undefined, range: SeedRange): Promise<Catch> {
  // Inside the project, so that the copy finds the same packages.
  const copy = mkdtempSync(join(root, 'dist.bug-'))
  try {
    link(join(root, 'dist'), copy)
    if (bug) plant(copy, bug)
    return await simulate(copy, range)
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

/** The files of the one folder in the other too: to copy them takes longer than to run most bugs into an invariant. */
function link(from: string, to: string): void {
  for (const each of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, each.name), join(to, each.name)]
    if (each.isDirectory()) {
      mkdirSync(target)
      link(source, target)
    } else if (each.name.endsWith('.js')) linkSync(source, target)
  }
}

function plant(copy: string, { name, file, find, replace }: Bug): void {
  const path = join(copy, file)
  const parts = readFileSync(path, 'utf8').split(find)
  if (parts.length !== 2) throw new Error(`'${name}': its text occurs ${parts.length - 1} times in ${file}, not once`)
  // In its place, not in it: it is the file of dist/ itself.
  rmSync(path)
  writeFileSync(path, parts.join(replace))
}

/** One worker of the simulator, a line of JSON a seed, ended at the first violation. */
async function simulate(copy: string, { from, seeds }: SeedRange): Promise<Catch> {
  const flags = ['--worker', '--from', `${from}`, '--seeds', `${seeds}`]
  const child = spawn(process.execPath, [join(copy, 'testing/simulator/cli.js'), ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const stuck = setTimeout(() => child.kill('SIGKILL'), STUCK_MS)
  let complaint = ''
  child.stderr.setEncoding('utf8').on('data', (chunk) => (complaint += chunk))
  const exit = once(child, 'close')
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      stuck.refresh()
      const { seed, violations } = JSON.parse(line)
      if (violations.length > 0) return { seed, invariant: `invariant ${violations[0].invariant}` }
    }
    const [code] = await exit
    if (code === 0) return { seed: undefined, invariant: '' }
    return {
      seed: from,
      invariant: `the run itself failed: ${/\w*Error: .*/.exec(complaint)?.[0] ?? 'it did not end'}`,
    }
  } finally {
    clearTimeout(stuck)
    child.kill('SIGKILL')
  }
}
