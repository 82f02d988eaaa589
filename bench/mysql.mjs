// What the rules cost on a database: acquire and release on a store in MariaDB, beside the least that two such changes
// can be (a transaction that locks a row, changes it and commits, twice) and beside the server's own GET_LOCK, all in one
// run on one server, with as many connections each.
import { performance } from 'node:perf_hooks'
import { createPool } from 'mysql2/promise'

const dist = process.env.BATON_DIST ?? new URL('../dist', import.meta.url).pathname
const { openMysqlStore } = await import(`${dist}/stores/mysql/index.js`)
const { startMariadb } = await import(`${dist}/testing/harness/mariadb.js`)

const SECONDS = Number(process.env.BENCH_SECONDS ?? 1)
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 9)
const CONNECTIONS = 10

/** Every caller does its cycle over and over, as fast as it is answered. Cycles a second. */
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

/** Under a session, as the SDK does it. */
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

/** A lock of the server's own: nothing is written, and it needs a connection for as long as it is held. */
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
    // Turn by turn, and compared turn by turn: what else this machine does falls on all of them.
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
