// How long a hand-over from one process to another takes on a store in MariaDB, without a server between them: from the
// moment at which the holder begins to release to that at which the waiter's grant is claimed.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const dist = process.env.BATON_DIST ?? new URL('../dist', import.meta.url).pathname
const { startMariadb } = await import(`${dist}/testing/harness/mariadb.js`)

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 300)
const program = fileURLToPath(new URL('../test/e2e/library-process.mjs', import.meta.url))

/** A process on the store: `say` sends it a line, `hear` waits for one of its own. */
async function open(url, node) {
  const child = spawn(process.execPath, [program, url, node], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = []
  const waiting = new Set()
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(JSON.parse(line))
    for (const look of waiting) look()
  })
  const hear = (isIt) =>
    new Promise((resolve) => {
      const look = () => {
        const found = lines.find(isIt)
        if (found === undefined) return
        waiting.delete(look)
        lines.splice(0, lines.indexOf(found))
        resolve(found)
      }
      waiting.add(look)
      look()
    })
  await hear(({ ready }) => ready)
  return { child, hear, say: (what) => child.stdin.write(`${JSON.stringify(what)}\n`) }
}

const mariadb = await startMariadb()
const url = await mariadb.createDatabase('bench')
const processes = [await open(url, 'a'), await open(url, 'b')]
const tookMs = []
try {
  processes[0].say({ what: 'acquire', id: 0, resource: 'r', options: {} })
  await processes[0].hear((line) => line.id === 0 && 'granted' in line)
  for (let id = 1; id <= ROUNDS; id++) {
    const [holder, waiter] = [processes[(id - 1) % 2], processes[id % 2]]
    waiter.say({ what: 'acquire', id, resource: 'r', options: {} })
    await waiter.hear((line) => line.id === id && 'queued' in line)
    // Until then it has gone to sleep, like one that has waited for long.
    await new Promise((resolve) => setTimeout(resolve, 20))
    holder.say({ what: 'release', id: id - 1 })
    const { atMs: releasedMs } = await holder.hear((line) => line.id === id - 1 && 'released' in line)
    const { atMs: grantedMs } = await waiter.hear((line) => line.id === id && 'granted' in line)
    tookMs.push(grantedMs - releasedMs)
  }
  tookMs.sort((a, b) => a - b)
  const at = (part) => tookMs[Math.floor(part * tookMs.length)].toFixed(1)
  console.log(`${ROUNDS} hand-overs between two processes: p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, fastest ${at(0)} ms`)
} finally {
  for (const { child } of processes) {
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  await mariadb.stop()
}
