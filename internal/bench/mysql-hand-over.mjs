// The time of a hand-over between two processes on a store in MariaDB, without a server between them: from when the holder
// begins to release until the waiter has claimed its grant. Beside it, in the same run and after the same pause, the time of
// a single statement that changes one row: a hand-over is two commits, two reads under a lock and a notification.
import { fileURLToPath } from 'node:url'
import { createConnection } from 'mysql2/promise'
import { bundled } from './lib/bundled.mjs'
import { startProcess } from './lib/child-process.mjs'

const { startMariadb } = await import(await bundled('internal/faults/src/harness/mariadb.ts'))

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 300)
const program = fileURLToPath(new URL('../../test/e2e/library-process.mjs', import.meta.url))

function summaryOf(samples) {
  const sorted = samples.toSorted((a, b) => a - b)
  const at = (part) => sorted[Math.floor(part * sorted.length)].toFixed(1)
  return `p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, fastest ${at(0)} ms`
}

const mariadb = await startMariadb()
const url = await mariadb.createDatabase('bench')
const processes = [await startProcess(program, url, 'a'), await startProcess(program, url, 'b')]
const bare = await createConnection(url)
await bare.query('CREATE TABLE bare (n INT)')
await bare.query('INSERT INTO bare VALUES (0)')

let id = 0
async function measure(pauseMs) {
  const pause = () => new Promise((resolve) => setTimeout(resolve, pauseMs))
  const tookMs = []
  const bareMs = []
  for (const last = id + ROUNDS; id < last; ) {
    const [holder, waiter] = [processes[id % 2], processes[++id % 2]]
    waiter.say({ what: 'acquire', id, resource: 'r', options: {} })
    await waiter.hear((line) => line.id === id && 'queued' in line)
    await pause()
    holder.say({ what: 'release', id: id - 1 })
    const { atMs: releasedMs } = await holder.hear((line) => line.id === id - 1 && 'released' in line)
    const { atMs: grantedMs } = await waiter.hear((line) => line.id === id && 'granted' in line)
    tookMs.push(grantedMs - releasedMs)
    await pause()
    const startedMs = performance.now()
    await bare.query('UPDATE bare SET n = n + 1')
    bareMs.push(performance.now() - startedMs)
  }
  console.log(`  hand-over from one process to the other  ${summaryOf(tookMs)}`)
  console.log(`  one statement that changes one row       ${summaryOf(bareMs)}`)
}

try {
  processes[0].say({ what: 'acquire', id, resource: 'r', options: {} })
  await processes[0].hear((line) => line.id === 0 && 'granted' in line)
  console.log(`${ROUNDS} one after another, with a pause of 20 ms before each`)
  await measure(20)
  console.log(`${ROUNDS} one after another, without a pause`)
  await measure(0)
} finally {
  bare.destroy()
  for (const process of processes) await process.kill()
  await mariadb.stop()
}
