// How long a file store takes to open with a million kept outcomes and a hundred thousand held locks, and how much memory
// each of them takes.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { openFileStore } from 'baton-lock/stores'
import { until } from './lib/clock.mjs'

const OUTCOMES = Number(process.env.BENCH_OUTCOMES ?? 1_000_000)
const LOCKS = Number(process.env.BENCH_LOCKS ?? 100_000)
const SESSIONS = 1_000
const LOG_STEPS = Number(process.env.BENCH_LOG_STEPS ?? 30_000)
/** Steps that share a sync. */
const BATCH = 2_000
/** Longer than the benchmark takes. */
const TTL_MS = 3_600_000

const clock = { nowMs: () => Math.floor(performance.timeOrigin + performance.now()) }
const addressOf = (kind, index) => ({
  namespace: 'default',
  resource: `sha256:${kind}${String(index).padStart(63, '0')}`,
})
const nodeOf = (index) => `node-${String(index % SESSIONS).padStart(3, '0')}`
const sessionOf = (index) => `session-${index % SESSIONS}-5f0c6e0e9a1d`
const mega = (bytes) => `${(bytes / 1e6).toFixed(0)} MB`

if (process.argv[3] === 'start') await start(process.argv[4])
else await measure()

async function measure() {
  const directory = mkdtempSync(join(process.env.BENCH_FOLDER ?? tmpdir(), 'baton-start-'))
  try {
    await write(directory)
    const size = readdirSync(directory).reduce((sum, name) => sum + statSync(join(directory, name)).size, 0)
    console.log(
      `${OUTCOMES} kept outcomes and ${LOCKS} held locks of ${SESSIONS} sessions, ${LOG_STEPS} steps in the log: ${mega(size)}`,
    )
    for (let run = 0; run < 2; run++) {
      const self = fileURLToPath(import.meta.url)
      const args = ['--expose-gc', self, 'file-start', 'start', directory]
      const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8' })
      if (status !== 0) throw new Error(stderr)
      process.stdout.write(stdout)
    }
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/** Opens the store in a fresh process. */
async function start(directory) {
  const before = process.memoryUsage().rss
  const begin = performance.now()
  const store = await openFileStore({ directory, clock })
  const readyMs = performance.now() - begin
  const peak = process.memoryUsage().rss
  const { resources, grants, sessions } = await store.counts()
  globalThis.gc()
  await new Promise((resolve) => setTimeout(resolve, 200))
  const rss = process.memoryUsage().rss
  const a = (bytes) => `${mega(bytes)}, ${Math.round((bytes - before) / resources)} bytes a record`
  console.log(
    `ready after ${(readyMs / 1_000).toFixed(2)} s with ${resources} resources, ${grants} grants, ${sessions} sessions; ` +
      `memory ${a(peak)} when ready, ${a(rss)} after a collection`,
  )
  process.exit(0)
}

/** Leaves a snapshot of everything, followed by a log of `LOG_STEPS` steps. */
async function write(directory) {
  const store = await openFileStore({ directory, clock })
  for (let index = 0; index < SESSIONS; index++)
    await store.openSession({ session: sessionOf(index), node: nodeOf(index), ttlMs: TTL_MS })
  await inBatches(store, OUTCOMES, (index) => succeed(store, index))
  await inBatches(store, LOCKS, (index) => {
    const session = index % 2 === 0 ? { session: sessionOf(index) } : {}
    store.step(addressOf('b', index), { ...askOf('lock', index), ...session })
  })
  await store.close()

  // A store with over 10,000 grants writes a snapshot soon after it was opened, and with this limit no other one.
  const logs = () => readdirSync(directory).filter((name) => name.startsWith('log-'))
  const before = logs()
  const reopened = await openFileStore({ directory, clock, logLimit: 2 ** 40 })
  await inBatches(reopened, 1, () => pullAgain(reopened, 0))
  const isWritten = () => logs().length === 1 && !before.includes(logs()[0])
  await until(isWritten, { what: 'the snapshot is written', withinMs: 120_000 })
  await inBatches(reopened, LOG_STEPS, (index) => pullAgain(reopened, index))
  await reopened.close()
}

function askOf(operation, index) {
  return {
    type: 'acquire',
    operation,
    node: nodeOf(index),
    owner: `${nodeOf(index)}/0123456789abcdef`,
    hold: '0123456789abcdef',
    ttlMs: TTL_MS,
  }
}

/** A success that is kept, and acknowledged as by the SDK. */
function succeed(store, index) {
  const at = addressOf('a', index)
  const { operation, node, owner, hold, ...ask } = askOf('pull', index)
  const { fence } = store.step(at, { ...ask, operation, node, owner, hold })
  const outcome = { outcome: 'success', result: { bytes: 31_415_926 } }
  store.step(at, { type: 'release', operation, owner, hold, fence, ...outcome })
  store.acknowledge({ ...at, operation, node, owner, hold })
}

/** A request that skips, as its resource has a kept success. */
function pullAgain(store, index) {
  const node = { node: 'node-again', owner: 'o', hold: 'h' }
  store.step(addressOf('a', (index * 7) % OUTCOMES), { ...askOf('pull', index), ...node })
}

async function inBatches(store, count, run) {
  for (let index = 0; index < count; index++) {
    run(index)
    if (index % BATCH === BATCH - 1 || index === count - 1) await store.durable()
  }
}
