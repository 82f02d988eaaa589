import { rowOf } from 'baton-lock/store-table'
import { argumentsOf } from '../arguments.ts'
import { runContentSoak } from '../content/soak-report.ts'
import type { Violation } from '../history/check-history.ts'
import { describeRecord } from '../history/history.ts'
import type { TimedRecord } from '../history/journal.ts'
import { soak } from './soak.ts'
import type { Verdict } from './verdict.ts'

const USAGE = `
Runs real servers and clients under real faults, and checks their history. Exits with 1 on a violation.

npm run soak -- --minutes 10                    one server on memory:, 50 clients
npm run soak -- --store file: --kill-servers    a durable store in a new directory; its server is killed
npm run soak -- --store mysql: --servers 3 --kill-servers    three servers on a MariaDB of the run's own, which fails too
npm run soak -- --store etcd: --servers 3 --kill-servers     the same on an etcd of three members
npm run soak -- --store mysql: --library        no servers: every client opens the store
npm run soak -- --content --minutes 10 --nodes 4    content stores of containerd nodes, with a registry

--clients 50            so many client processes
--seed 7                draws the same calls and faults again
--ttl-ms 2000           the lease of the clients
--store mysql://…       a database of yours, without tables of Baton
--observe               two observers listen to everything, and must receive the same
--attack                somebody attacks the server meanwhile
--no-fence-check        the storage does not check fences: this must fail
--no-database-sync      the MariaDB of the run forgets what it committed last: this must fail
`

const { values } = argumentsOf(USAGE, {
  options: {
    minutes: { type: 'string', default: '1' },
    clients: { type: 'string', default: '50' },
    store: { type: 'string', default: 'memory:' },
    servers: { type: 'string', default: '1' },
    library: { type: 'boolean', default: false },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    'ttl-ms': { type: 'string', default: '2000' },
    'kill-servers': { type: 'boolean', default: false },
    observe: { type: 'boolean', default: false },
    attack: { type: 'boolean', default: false },
    'no-fence-check': { type: 'boolean', default: false },
    'no-database-sync': { type: 'boolean', default: false },
    content: { type: 'boolean', default: false },
    nodes: { type: 'string', default: '4' },
  },
})

/** A shorter run may miss something without having proved less of the rest. */
const PROOF_MS = 30_000
/** The heap of a run that is long enough to tell: more than this beyond its second quarter is a leak. */
const HEAP_PROOF_SAMPLES = 40
const HEAP_GROWTH = 1.3
const MEGABYTE = 1024 * 1024

const out = (text: string) => process.stdout.write(`${text}\n`)
const progress = (text: string) => {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`)
}

async function main(): Promise<number> {
  if (values.content) {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        out(`ended by ${signal}`)
        process.exit(1)
      })
    }
    return runContentSoak({ ...values, out, progress })
  }
  const store = values.store
  const usage = wrongUse()
  if (usage !== undefined) {
    out(usage)
    return 64
  }
  const servers = values.library ? 0 : Number(values.servers)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))
  const lengthMs = Number(values.minutes) * 60_000
  const startMs = Date.now()
  const verdict = await soak({
    lengthMs,
    store,
    clients: Number(values.clients),
    servers,
    library: values.library,
    seed: Number(values.seed),
    ttlMs: Number(values['ttl-ms']),
    checkFences: !values['no-fence-check'],
    isDatabaseForgetful: values['no-database-sync'],
    killServers: values['kill-servers'],
    observe: values.observe,
    attack: values.attack,
    onProgress: progress,
  })
  progress('')
  const seconds = ((Date.now() - startMs) / 1_000).toFixed(0)
  const on = `${values.library ? 'in library mode' : `${servers} server(s)`} on ${store.split(':')[0]}:`
  out(`seed ${values.seed}, ${values.clients} clients, ${on}, ${seconds} s`)
  out(`  ${listOf(verdict.counts)}`)
  out(`  faults: ${listOf(verdict.faults)}`)
  if (verdict.told) out(`  events: ${listOf(verdict.told)}`)
  if (servers > 0) out(`  heap of the server: ${heapText(verdict.heap)}`)
  return report(verdict, lengthMs)
}

function wrongUse(): string | undefined {
  const { name, isShared } = rowOf(values.store)
  if (name === 'memory' && values['kill-servers'])
    return 'a memory store lives and dies with its server; name another --store'
  if (name === 'etcd' && values.store !== 'etcd:') return 'only an etcd of its own is hurt: --store etcd:'
  if (name !== 'mysql' && values['no-database-sync']) return '--no-database-sync is for --store mysql:'
  if (values.attack && (values.library || values.servers !== '1')) return '--attack is for one server'
  if (values.library && !isShared) return `only a store that processes share goes without servers, not a ${name} store`
  if (values.servers !== '1' && !isShared) return `a ${name} store has one server`
  return undefined
}

function report({ violations, counts, heap, told, folder, history }: Verdict, lengthMs: number): number {
  const never = Object.entries(counts).filter(([name, count]) => count === 0 && name !== 'writes refused')
  if (violations.length > 0) {
    out(`FAILED: ${violations.length} violations; the histories are in ${folder}`)
    for (const { invariant, resource, what } of violations.slice(0, 20)) out(`  ${invariant} ${resource}: ${what}`)
    tell(history as readonly TimedRecord[], violations[0]!)
    return 1
  }
  if (lengthMs >= PROOF_MS && never.length > 0) {
    out(`FAILED: a run that never meets ${never.map(([name]) => name).join(', ')} proves nothing`)
    return 1
  }
  if (told && (told['compared with one another'] === 0 || told['compared with the history'] === 0)) {
    out('FAILED: observers that nothing was compared of prove nothing')
    return 1
  }
  if (isGrowing(heap)) {
    out('FAILED: the heap of the server grows')
    return 1
  }
  out('no violation')
  return 0
}

/** What happened to a resource until it was violated, by the one clock. */
function tell(history: readonly TimedRecord[], { resource, what }: Violation): void {
  const startMs = history[0]?.monoMs ?? 0
  const atMs = Number(/^at ([\d.]+)s:/.exec(what)?.[1] ?? Infinity) * 1_000
  const isLater = (record: TimedRecord) => record.kind === 'step' && record.nowMs > atMs + 0.5
  const ofIt = history.filter((record) => 'resource' in record && record.resource === resource)
  const end = ofIt.findIndex(isLater)
  for (const record of ofIt.slice(0, end < 0 ? undefined : end).slice(-30))
    out(describeRecord({ ...record, nowMs: record.monoMs - startMs }))
}

function isGrowing(heap: readonly number[]): boolean {
  if (heap.length < HEAP_PROOF_SAMPLES) return false
  const quarter = Math.floor(heap.length / 4)
  const [second, last] = [median(heap.slice(quarter, 2 * quarter)), median(heap.slice(3 * quarter))]
  return last > second * HEAP_GROWTH
}

function heapText(heap: readonly number[]): string {
  const quarter = Math.max(1, Math.floor(heap.length / 4))
  const text = (bytes: number) => `${(bytes / MEGABYTE).toFixed(1)} MB`
  const quarters = [0, 1, 2, 3].map((index) => median(heap.slice(index * quarter, (index + 1) * quarter)))
  return `${quarters.map(text).join(', ')} by quarters, ${text(heap.at(-1) ?? 0)} at the end`
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0
}

function listOf(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ')
}

// At once: connections that were cut in the middle have nothing left to say.
process.exit(await main())
