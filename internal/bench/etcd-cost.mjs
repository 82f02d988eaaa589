// The load that Baton puts on an etcd of three members, by etcd's own counters: requests, bytes, log entries, syncs, watch events.
// They are read before and after a number of cycles or hand-overs; the requests of idle servers during that time are subtracted.
// Counts do not depend on the speed of the machine. The last two columns do: they are processor time.
import { join } from 'node:path'
import { connect, open } from 'baton-lock'
import { startBaton, startEtcd, temporaryFolder } from './lib/servers.mjs'

const TIMES = Number(process.env.BENCH_TIMES ?? 200)
const COUNTS = (process.env.BENCH_SERVERS ?? '1,2,3,5').split(',').map(Number)
/** Cycles of callers that share transactions: enough of them that most transactions are full. */
const MORE = 20 * TIMES
const IDLE_MS = 5_000
const SESSIONS = 20
const TTL_MS = 6_000
const cluster = await startEtcd({ folder: join(temporaryFolder(), 'etcd'), members: 3 })
let servers = []
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** A counter of one member: the sum of its series whose labels contain `label`. */
const sumOf = (text, name, label = '') =>
  text
    .split('\n')
    .filter((line) => (line.startsWith(`${name}{`) || line.startsWith(`${name} `)) && line.includes(label))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)

/** Sums of all members, unless noted. */
async function counters() {
  const texts = await Promise.all(cluster.url.split(',').map(async (url) => (await fetch(`${url}/metrics`)).text()))
  const pages = await Promise.all(servers.map(async ({ url }) => (await fetch(`${url}/metrics`)).text()))
  const of = (name, label) => texts.reduce((sum, text) => sum + sumOf(text, name, label), 0)
  const most = (name) => Math.max(...texts.map((text) => sumOf(text, name)))
  return {
    atMs: performance.now(),
    requests: of('grpc_server_handled_total', 'grpc_method="Txn"'),
    renewals: of('grpc_server_msg_received_total', 'grpc_method="LeaseKeepAlive"'),
    watchMessages: of('grpc_server_msg_sent_total', 'grpc_method="Watch"'),
    entries: most('etcd_server_proposals_committed_total'),
    puts: most('etcd_mvcc_put_total'),
    deletes: most('etcd_mvcc_delete_total'),
    syncs: of('etcd_disk_wal_fsync_duration_seconds_count') / 3,
    logBytes: of('etcd_disk_wal_write_bytes_total') / 3,
    inBytes: of('etcd_network_client_grpc_received_bytes_total'),
    outBytes: of('etcd_network_client_grpc_sent_bytes_total'),
    peerBytes: of('etcd_network_peer_sent_bytes_total'),
    keptBytes: most('etcd_mvcc_db_total_size_in_use_in_bytes'),
    memberMs: 1_000 * most('process_cpu_seconds_total'),
    serverMs: 1_000 * pages.reduce((sum, page) => sum + sumOf(page, 'baton_process_cpu_seconds_total'), 0),
  }
}

const differences = (before, after, times) =>
  Object.fromEntries(Object.entries(after).map(([name, value]) => [name, (value - before[name]) / times]))

const COLUMNS = {
  requests: 'requests',
  entries: 'log entries',
  syncs: 'syncs a member',
  puts: 'puts',
  deletes: 'deletes',
  watchMessages: 'watch messages',
  renewals: 'renewals of leases',
  inBytes: 'bytes in',
  outBytes: 'bytes out',
  peerBytes: 'bytes between members',
  logBytes: 'bytes of log a member',
  keptBytes: 'bytes kept a member',
  memberMs: 'ms of a core, the busiest member',
  serverMs: 'ms of a core, all servers',
}

function print(what, each) {
  const cells = Object.keys(COLUMNS).map((name) => {
    if (each[name] >= 100) return Math.round(each[name])
    return each[name].toFixed(name.endsWith('Ms') ? 2 : 1)
  })
  console.log(`| ${[what, ...cells].join(' | ')} |`)
}

/** Resolves once letters that were read are deleted, which happens later, a thousand at a time. */
async function cleared() {
  for (let looks = 0, before = -1; looks < 20; looks++) {
    const { deletes } = await counters()
    if (deletes === before) return
    before = deletes
    await pause(700)
  }
}

/** Prints the counters of `work`, divided by `times`. */
async function count(what, times, idle, work) {
  const before = await counters()
  await work()
  await cleared()
  const after = await counters()
  const each = differences(before, after, times)
  for (const name of Object.keys(COLUMNS)) each[name] -= idle[name] * (each.atMs / 1_000)
  print(what, each)
}

async function idleRates(what) {
  await pause(1_000)
  const before = await counters()
  await pause(IDLE_MS)
  const rates = differences(before, await counters(), IDLE_MS / 1_000)
  print(`idle, a second: ${what}`, rates)
  return rates
}

let key = 0

const cycles = (baton, callers, times) => async () => {
  let left = times
  const caller = async () => {
    while (left-- > 0) await (await baton.lock(`key-${key++}`)).release()
  }
  await Promise.all(Array.from({ length: callers }, caller))
}

/** Two clients and one lock: the holder releases it once the other client is queued. */
const handOvers = (first, second) => async () => {
  const name = `baton-${key++}`
  const clients = [first, second]
  let held = await first.lock(name)
  for (let turn = 1; turn <= TIMES; turn++) {
    let next
    await new Promise((onQueued) => {
      next = clients[turn % 2].lock(name, { onQueued })
    })
    await held.release()
    held = await next
  }
  await held.release()
}

/** One caller does the work, and waiters at both clients learn of the success. */
const success = (first, second) => async () => {
  const name = `success-${key++}`
  let areQueued = 0
  const waits = []
  await first.once(name, async () => {
    const onQueued = () => areQueued++
    for (let waiter = 0; waiter < TIMES; waiter++)
      waits.push([first, second][waiter % 2].once(name, () => {}, { onQueued }))
    for (let looks = 0; looks < 2_000 && areQueued < TIMES; looks++) await pause(5)
  })
  for (const { status } of await Promise.all(waits)) if (status !== 'skipped') throw new Error(status)
}

/** The cost of keeping alive sessions that hold a lock. */
async function holding(url, idle, many) {
  const clients = await Promise.all(
    Array.from({ length: SESSIONS }, (_, at) => connect(url, { node: `holds-${at}`, ttlMs: TTL_MS })),
  )
  await Promise.all(clients.map((client) => client.lock(`held-${key++}`)))
  await count(`a session of ${TTL_MS / 1_000} s, a second, ${many} servers`, SESSIONS * 6, idle, () => pause(5_800))
  await Promise.all(clients.map((client) => client.close()))
}

const line = (cells) => `| ${cells.join(' | ')} |`
console.log(line(['what', ...Object.values(COLUMNS)]))
console.log(line(['what', ...Object.values(COLUMNS)].map(() => '---')))

try {
  for (const many of COUNTS) {
    const store = cluster.storeUrl(`of-${many}`)
    servers = await Promise.all(Array.from({ length: many }, () => startBaton({ store })))
    const idle = await idleRates(`${many} servers`)
    const batons = await Promise.all(
      [0, 1].map((at) => connect(servers[at % many].url, { node: `node-${at}`, ttlMs: 3_600_000 })),
    )
    await cycles(batons[0], 32, MORE)()
    await cleared()
    for (const [callers, times] of [
      [1, TIMES],
      [32, MORE],
      [256, MORE],
    ])
      await count(`a cycle, ${callers} callers, ${many} servers`, times, idle, cycles(batons[0], callers, times))
    await count(`a hand-over, ${many} servers`, TIMES, idle, handOvers(...batons))
    await count(`a waiter that queues and learns of a success, ${many} servers`, TIMES, idle, success(...batons))
    await holding(servers[0].url, idle, many)
    await Promise.all(batons.map((baton) => baton.close()))
    await Promise.all(servers.map((server) => server.stop('SIGTERM')))
    servers = []
  }
  const store = cluster.storeUrl('of-none')
  const batons = await Promise.all([0, 1].map((at) => open(store, { node: `node-${at}`, ttlMs: 3_600_000 })))
  const idle = await idleRates('2 processes without a server')
  await count('a cycle, 1 caller, no server', TIMES, idle, cycles(batons[0], 1, TIMES))
  await count('a hand-over, no server', TIMES, idle, handOvers(...batons))
  await Promise.all(batons.map((baton) => baton.close()))
} finally {
  await cluster.stop()
}
