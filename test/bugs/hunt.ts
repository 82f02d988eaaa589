import { spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Bug } from './bugs.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

export interface Catch {
  /** How many seeds it took; nothing where it got away. */
  readonly seeds: number | undefined
  readonly invariant: string
}

/** Builds the bug into a copy of dist/ and lets the simulator look for it. */
export async function hunt(bug: Bug | undefined, seeds: number): Promise<Catch> {
  // Inside the project, so that the copy finds the same packages.
  const copy = mkdtempSync(join(root, 'dist.bug-'))
  try {
    cpSync(join(root, 'dist'), copy, { recursive: true })
    if (bug) plant(copy, bug)
    return verdict(await simulator(copy, seeds))
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

function plant(copy: string, { name, file, find, replace }: Bug): void {
  const path = join(copy, file)
  const parts = readFileSync(path, 'utf8').split(find)
  if (parts.length !== 2) throw new Error(`'${name}': its text occurs ${parts.length - 1} times in ${file}, not once`)
  writeFileSync(path, parts.join(replace))
}

function simulator(copy: string, seeds: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const flags = ['--seeds', `${seeds}`, '--workers', '1', '--no-shrink']
    const child = spawn(process.execPath, [join(copy, 'testing/simulator/cli.js'), ...flags], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let text = ''
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (chunk) => (text += chunk))
    child.on('error', reject).on('close', () => resolve(text))
  })
}

function verdict(text: string): Catch {
  const [, seed, invariant] = /FAILED: seed (\d+) violates invariant (\d+)/.exec(text) ?? []
  if (seed !== undefined) return { seeds: Number(seed), invariant: `invariant ${invariant}` }
  if (text.includes('no violation')) return { seeds: undefined, invariant: '' }
  return { seeds: 1, invariant: `the run itself failed: ${/\w*Error: .*/.exec(text)?.[0] ?? text.slice(-300)}` }
}
