import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { startProcess } from '@baton-lock/test-support/processes'
import { argumentsOf } from '../arguments.ts'
import { describeRecord } from '../history/history.ts'
import { filePlanOf, planOf } from './plan.ts'
import { simulateSeeds } from './seeds.ts'
import { shrink } from './shrink.ts'
import type { Counts } from './simulate.ts'

const USAGE = `
Simulates clusters with faults, a seed each, and checks their histories. Exits with 1 at the first violation.

npm run sim -- --seeds 1000 --from 1     runs so many seeds
npm run sim -- --seeds 1 --from 4711     replays one, and shrinks it if it fails

--workers 2         so many processes; default: one per core
--store file        a server on a disk that loses what was not synced, and crashes often
--no-fence-check    the storage does not check fences: this must fail
--no-shrink         prints a failure as it is
`

const { values } = argumentsOf(USAGE, {
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    workers: { type: 'string', default: String(availableParallelism()) },
    worker: { type: 'boolean', default: false },
    stride: { type: 'string', default: '1' },
    store: { type: 'string', default: 'memory' },
    'no-fence-check': { type: 'boolean', default: false },
    'no-shrink': { type: 'boolean', default: false },
  },
})
const from = Number(values.from)
const seeds = Number(values.seeds)
const checkFences = !values['no-fence-check']
const planFor = values.store === 'file' ? filePlanOf : planOf

/** A worker makes and forgets so much that the usual room for what is young is full a hundred times a second. */
const ROOM = '--max-semi-space-size=32'

/** What a worker says of one seed, a line of JSON each. */
interface Line {
  readonly seed: number
  readonly hash: string
  readonly counts: Counts
  readonly violations: readonly { readonly invariant: number; readonly resource: string; readonly what: string }[]
}

// A worker whose leader is gone has nobody to work for.
process.stdout.on('error', () => process.exit(1))
const out = (text: string) => process.stdout.write(text)

if (values.worker) await work()
else process.exitCode = await lead()

async function work(): Promise<void> {
  const stride = Number(values.stride)
  let current = from
  // A seed throws and catches hundreds of errors: to note where each comes from takes a twentieth of its time. A replay does.
  if (seeds > 1) {
    Error.stackTraceLimit = 0
    process.on(
      'exit',
      (code) => code !== 0 && process.stderr.write(`seed ${current} broke off; ${replayOf(current)}\n`),
    )
  }
  const store = values.store === 'file' ? 'file' : 'memory'
  const results = simulateSeeds({ seeds, from, stride, store, checkFences })
  for await (const { seed, hash, counts, violations } of results) {
    const line: Line = { seed, hash, counts, violations: violations.slice(0, 20) }
    out(`${JSON.stringify(line)}\n`)
    current = seed + stride
  }
}

function replayOf(seed: number): string {
  return `replay: npm run sim -- --seeds 1 --from ${seed} --store ${values.store}${checkFences ? '' : ' --no-fence-check'}`
}

async function lead(): Promise<number> {
  const startMs = Date.now()
  const totals: Record<string, number> = {}
  let done = 0
  let failed: Line | undefined
  const onLine = (line: Line) => {
    done++
    for (const [name, count] of Object.entries(line.counts)) totals[name] = (totals[name] ?? 0) + count
    if (line.violations.length > 0 && (!failed || line.seed < failed.seed)) failed = line
    if (process.stderr.isTTY)
      process.stderr.write(`\r${done} of ${seeds} seeds, ${((Date.now() - startMs) / 1_000).toFixed(0)} s `)
  }
  await runWorkers(onLine, () => failed !== undefined)
  const seconds = ((Date.now() - startMs) / 1_000).toFixed(1)
  if (process.stderr.isTTY) process.stderr.write('\r')
  out(
    `${done} seeds from ${from} in ${seconds} s: ${Object.entries(totals)
      .map(([name, count]) => `${count} ${name}`)
      .join(', ')}\n`,
  )
  if (failed) return report(failed)
  const never = Object.entries(totals).filter(([, count]) => count === 0)
  if (seeds >= 100 && never.length > 0) {
    out(`FAILED: a run that never meets ${never.map(([name]) => name).join(', ')} proves nothing\n`)
    return 1
  }
  out('no violation\n')
  return 0
}

async function runWorkers(onLine: (line: Line) => void, isOver: () => boolean): Promise<void> {
  const count = Math.max(1, Math.min(Number(values.workers), seeds))
  const self = fileURLToPath(import.meta.url)
  const workers = Array.from({ length: count }, async (_, index) => {
    const flags = ['--worker', '--from', `${from + index}`, '--seeds', `${seeds - index}`, '--stride', `${count}`]
    flags.push('--store', values.store)
    if (!checkFences) flags.push('--no-fence-check')
    const worker = startProcess(process.execPath, [ROOM, self, ...flags], {
      onLine: (line) => {
        onLine(JSON.parse(line))
        if (isOver()) worker.kill('SIGTERM')
      },
    })
    const { code, stderr } = await worker.ended
    if (code !== 0 && !isOver()) throw new Error(`a worker failed with ${code}: ${stderr}`)
  })
  await Promise.all(workers)
}

async function report(failed: Line): Promise<number> {
  const [violation] = failed.violations
  out(`FAILED: seed ${failed.seed} violates invariant ${violation!.invariant}: ${violation!.what}\n`)
  out(`${replayOf(failed.seed)}\n`)
  if (values['no-shrink'] || !checkFences) return 1
  const { plan, result, violation: same } = await shrink(planFor(failed.seed), violation!)
  out(`shrunk to ${plan.actions.length} actions and ${plan.faults.length} faults: ${JSON.stringify(plan.faults)}\n`)
  const relevant = result.history.filter(
    (record) => !('resource' in record) || record.resource === same.resource || same.resource === '',
  )
  out(`the history of ${same.resource || 'all resources'} (${same.what}):\n`)
  for (const record of relevant.filter(({ kind }) => kind !== 'session').slice(-60)) out(`${describeRecord(record)}\n`)
  return 1
}
