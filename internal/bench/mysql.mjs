// The cost of the rules on a database: acquire and release on a store in MariaDB, beside the minimum for two such changes
// (a transaction that locks a row, changes it and commits, twice) and beside MariaDB's own GET_LOCK, all in one run on one
// server, with the same number of connections.
import { performance } from 'node:perf_hooks'
import { openMysqlStore } from '@baton-lock/store-mysql'
import { createPool } from 'mysql2/promise'
import { bundled } from './lib/bundled.mjs'

const { startMariadb } = await import(await bundled('internal/faults/src/harness/mariadb.ts'))

const SECONDS = Number(process.env.BENCH_SECONDS ?? 1)
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 9)
const CONNECTIONS = 10

/** Callers that repeat their cycle as fast as they get answers. Returns cycles per second. */
async function cycles(callers, cycle) {
  const start = performance.now()
  const until = start + SECONDS * 1_000
  let done = 0
  const caller = async (index) => {
    for (let count = 0; performance.now() < until; count++, done++) await cycle(index, count)
  }
  await Promise.all(Array.from({ length: callers }, (_, index) => caller(index)))
  return done / ((performance.now() - start) / 1_000)
}

/** With a session, as in the SDK. */
async function baton(store, callers) {
  const session = `bench-${Math.random()}`
  await store.openSession({ session, node: 'n', ttlMs: 600_000 })
  const sweeping = setInterval(() => void store.sweep(1_000), 1_000)
  try {
    return await cycles(callers, async (index, count) => {
      const at = { namespace: 'default', resource: `sha256:${String(index).padStart(64, '0')}` }
      const asker = { operation: 'lock', owner: `owner-${index}`, hold: `${session}-${count}` }
      const { fence } = await store.step(at, { type: 'acquire', ...asker, node: 'n', ttlMs: 30_000, session })
      await store.step(at, { type: 'release', ...asker, fence, outcome: 'success' })
    })
  } finally {
    clearInterval(sweeping)
    await store.closeSession(session)
  }
}

async function floor(pool, callers) {
  const change = async (index) => {
    const connection = await pool.getConnection()
    await connection.query('BEGIN')
    await connection.query('SELECT body FROM floor WHERE id = ? FOR UPDATE', [index])
    await connection.query('UPDATE floor SET body = ? WHERE id = ?', [`${performance.now()}`.padEnd(220, 'x'), index])
    await connection.query('COMMIT')
    connection.release()
  }
  return cycles(callers, async (index) => {
    await change(index)
    await change(index)
  })
}

/** MariaDB's own lock: it writes nothing, and occupies a connection while it is held. */
async function getLock(pool, callers) {
  return cycles(callers, async (index) => {
    const connection = await pool.getConnection()
    await connection.query('SELECT GET_LOCK(?, 10)', [`bench ${index}`])
    await connection.query('SELECT RELEASE_LOCK(?)', [`bench ${index}`])
    connection.release()
  })
}

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]
const rate = (perSecond) => String(Math.round(perSecond)).padStart(6)

const mariadb = await startMariadb()
try {
  const url = `${await mariadb.createDatabase('bench')}`
  const store = await openMysqlStore({ url: `${url}?connections=${CONNECTIONS}` })
  const pool = createPool({ uri: url, connectionLimit: CONNECTIONS })
  await pool.query('CREATE TABLE floor (id INT PRIMARY KEY, body VARBINARY(1000) NOT NULL) ENGINE=InnoDB')
  await pool.query('INSERT INTO floor VALUES ?', [Array.from({ length: 256 }, (_, index) => [index, 'x'])])
  console.log(
    `${ROUNDS} rounds of ${SECONDS} s, medians; ${CONNECTIONS} connections; a cycle is an acquire and a release`,
  )
  for (const callers of [1, 32, 256]) {
    const runs = { baton: [], floor: [], getLock: [] }
    // By turns, and compared round by round, so that other work of this machine slows all of them.
    for (let round = 0; round < ROUNDS; round++) {
      runs.floor.push(await floor(pool, callers))
      runs.baton.push(await baton(store, callers))
      runs.getLock.push(await getLock(pool, callers))
    }
    const ratio = median(runs.baton.map((mine, round) => mine / runs.floor[round]))
    const [mine, least, own] = [median(runs.baton), median(runs.floor), median(runs.getLock)]
    console.log(
      `${String(callers).padStart(4)} callers: baton ${rate(mine)}/s (${((callers / mine) * 1_000).toFixed(2)} ms a cycle), ` +
        `floor ${rate(least)}/s, baton/floor ${ratio.toFixed(2)}; GET_LOCK ${rate(own)}/s`,
    )
  }
  await pool.end()
  await store.close()
} finally {
  await mariadb.stop()
}
