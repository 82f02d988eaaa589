import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { startProcess } from '@baton-lock/test-support/processes'
import { bundle } from '../../../scripts/bundle.mjs'
import { faultPrograms } from '../../../scripts/fault-programs.mjs'
import type { Bug } from './bug.ts'
import { planting, root } from './planting.ts'

/** A seed takes a tenth of a second. A simulator that needs longer than this for one, on a busy machine too, is stuck. */
const STUCK_MS = 120_000

export interface Hunt {
  /** The first seed that caught the bug; `undefined` if none did. */
  readonly seed: number | undefined
  readonly invariant: string
}

export interface SeedRange {
  readonly from: number
  readonly seeds: number
}

/** Builds the simulator with the bug, and runs it until a seed violates an invariant. */
export async function hunt(bug: Bug, range: SeedRange): Promise<Hunt> {
  // In the repository, where the bundle finds the packages that it does not contain.
  const outDir = mkdtempSync(join(root, 'internal/faults/dist.bug-'))
  try {
    let isPlanted = false
    const plugins = [planting(bug, () => (isPlanted = true))]
    await bundle(faultPrograms(outDir, { only: ['simulator'], root, plugins }))
    if (!isPlanted) throw new Error(`'${bug.name}': the simulator does not contain ${bug.file}`)
    return await simulate(join(outDir, 'simulator.js'), range)
  } finally {
    rmSync(outDir, { recursive: true, force: true })
  }
}

/** Runs one worker of the simulator, which prints a line of JSON per seed. Ends it at the first violation. */
async function simulate(program: string, { from, seeds }: SeedRange): Promise<Hunt> {
  let next = from
  let found: Hunt | undefined
  const onLine = (line: string) => {
    stuck.refresh()
    const { seed, violations } = JSON.parse(line)
    next = seed + 1
    if (found || violations.length === 0) return
    found = { seed, invariant: `invariant ${violations[0].invariant}` }
    worker.kill('SIGKILL')
  }
  const flags = ['--worker', '--from', `${from}`, '--seeds', `${seeds}`]
  const worker = startProcess(process.execPath, [program, ...flags], { onLine })
  const stuck = setTimeout(() => worker.kill('SIGKILL'), STUCK_MS)
  const { code, stderr } = await worker.ended
  clearTimeout(stuck)
  if (found) return found
  if (code === 0) return { seed: undefined, invariant: '' }
  const error = /\w*Error: .*/.exec(stderr)?.[0] ?? 'it did not end'
  // A mistake in the list, which proves nothing.
  if (/^(Reference|Syntax)Error/.test(error)) throw new Error(error)
  return { seed: next, invariant: `the run failed: ${error}` }
}
