// The time to notify 2, 6 and 12 processes on MariaDB. First without Baton, by each way to wake connections that wait in a
// statement; then Baton in library mode: one process does the work, the others wait for it and learn of the success.
import { fileURLToPath } from 'node:url'
import { createConnection } from 'mysql2/promise'
import { bundled } from './lib/bundled.mjs'
import { startProcess } from './lib/child-process.mjs'

const { startMariadb } = await import(await bundled('internal/faults/src/harness/mariadb.ts'))
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 100)
const SIZES = [2, 6, 12]
const program = fileURLToPath(new URL('mysql-ring-process.mjs', import.meta.url))

function summaryOf(samples) {
  const sorted = samples.toSorted((a, b) => a - b)
  const at = (part) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))].toFixed(1).padStart(7)
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${at(1)} ms`
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const kills = (connections) => connections.map(({ threadId }) => `KILL QUERY ${threadId}`)

/** How connections wait, and how they are woken. */
const ways = [
  {
    name: 'SLEEP, all KILL QUERY in one packet',
    wait: (connection) => connection.query('DO SLEEP(30)'),
    ring: (ringer, connections) => ringer.query(kills(connections).join(';')),
  },
  {
    name: 'SLEEP, a packet for each',
    wait: (connection) => connection.query('DO SLEEP(30)'),
    ring: async (ringer, connections) => {
      for (const kill of kills(connections)) await ringer.query(kill)
    },
  },
  {
    name: 'GET_LOCK of a lock that is held, in one packet',
    wait: (connection, index) => connection.query(`DO GET_LOCK('gate ${index}', 30)`),
    ring: (ringer, connections) => ringer.query(kills(connections).join(';')),
  },
  {
    name: 'GET_LOCK of a lock that is held, a packet for each',
    wait: (connection, index) => connection.query(`DO GET_LOCK('gate ${index}', 30)`),
    ring: async (ringer, connections) => {
      for (const kill of kills(connections)) await ringer.query(kill)
    },
  },
  {
    name: 'a row that is locked, in one packet',
    wait: (connection, index) => connection.query(`SELECT id FROM gates WHERE id = ${index} FOR UPDATE`),
    ring: (ringer, connections) => ringer.query(kills(connections).join(';')),
  },
]

/** Resolves once all connections are in their statements: before that, a ring has no effect. */
async function allWait(ringer, size) {
  const waiting = `SELECT COUNT(*) AS count FROM information_schema.PROCESSLIST
    WHERE DB = DATABASE() AND COMMAND = 'Query' AND ID <> CONNECTION_ID() AND TIME_MS > 5`
  for (;;) {
    const [[{ count }]] = await ringer.query(waiting)
    if (count >= size) return
    await pause(2)
  }
}

async function bare(url, size) {
  const options = { uri: url, multipleStatements: true }
  const [ringer, gate] = [await createConnection(options), await createConnection(options)]
  await gate.query('CREATE TABLE IF NOT EXISTS gates (id INT PRIMARY KEY) ENGINE=InnoDB')
  for (let index = 0; index < size; index++) {
    await gate.query(`INSERT IGNORE INTO gates VALUES (${index})`)
    await gate.query(`DO GET_LOCK('gate ${index}', 1)`)
  }
  await gate.query('BEGIN')
  await gate.query('SELECT id FROM gates FOR UPDATE')
  const connections = await Promise.all(Array.from({ length: size }, () => createConnection(options)))
  for (const { name, wait, ring } of ways) {
    const took = []
    for (let round = 0; round < ROUNDS; round++) {
      const waiting = connections.map((connection, index) => wait(connection, index).catch(() => {}))
      await allWait(ringer, size)
      const startedMs = performance.now()
      await Promise.all([ring(ringer, connections), ...waiting])
      took.push(performance.now() - startedMs)
    }
    console.log(`  ${name.padEnd(52)} ${summaryOf(took)}`)
  }
  for (const connection of [ringer, gate, ...connections]) connection.destroy()
}

async function told({ processes, resource }) {
  const [doer, ...others] = processes
  doer.say({ what: 'pull', resource })
  await doer.hear((line) => line.resource === resource && line.holds)
  for (const other of others) other.say({ what: 'pull', resource })
  await Promise.all(others.map((other) => other.hear((line) => line.resource === resource && line.waits)))
  await pause(30)
  doer.say({ what: 'finish' })
  const isEnd = (line) => line.resource === resource && 'status' in line
  const { reportedMs, endedMs } = await doer.hear(isEnd)
  const ends = await Promise.all(others.map((other) => other.hear(isEnd)))
  if (ends.some(({ status }) => status !== 'skipped')) throw new Error(`not all skipped: ${JSON.stringify(ends)}`)
  return { report: endedMs - reportedMs, skips: ends.map((end) => end.endedMs - reportedMs) }
}

const mariadb = await startMariadb({ options: ['--max-connections=500'] })
const running = []
try {
  for (const size of SIZES) {
    console.log(`${size} connections that wait, ${ROUNDS} rings`)
    await bare(await mariadb.createDatabase(`bare_${size}`), size)
  }
  for (const size of SIZES) {
    console.log(`Baton: ${size} processes wait for the work of another, ${ROUNDS} times`)
    const url = await mariadb.createDatabase(`ring_${size}`)
    const nodes = Array.from({ length: size + 1 }, (_, node) => `n${node}`)
    const processes = await Promise.all(nodes.map((node) => startProcess(program, url, node)))
    running.push(...processes)
    const reports = []
    const skips = []
    for (let round = 0; round < ROUNDS; round++) {
      const times = await told({ processes, resource: `r${round}` })
      reports.push(times.report)
      skips.push(...times.skips)
    }
    console.log(`  the report is acknowledged  ${summaryOf(reports)}`)
    console.log(`  a waiter learns of it       ${summaryOf(skips)}`)
    for (const process of running.splice(0)) await process.kill()
  }
} finally {
  for (const process of running) await process.kill()
  await mariadb.stop()
}
