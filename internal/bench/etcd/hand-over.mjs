// From a release at one server to the start of the callback at another, beside two plain commits of etcd, one after the other: a
// hand-over is a commit for the release and one for the claim.
import { fileURLToPath } from 'node:url'
import { systemTiming } from 'baton-lock/stores'
import { bundled } from '../lib/bundled.mjs'
import { startProcess } from '../lib/child-process.mjs'
import { pause } from '../lib/clock.mjs'
import { inTurn } from '../lib/rounds.mjs'
import { startBaton } from '../lib/servers.mjs'
import { absolute, compared, quantile } from '../lib/statistics.mjs'
import { handOvers, REST_MS } from '../lib/tellers.mjs'

const program = fileURLToPath(new URL('../tell-process.mjs', import.meta.url))
const TIMES = 60
const UNIT = { unit: 'ms' }

export async function handOver({ etcd, rounds }) {
  const sources = ['packages/store-etcd/src/client/index.ts', 'packages/store-etcd/src/etcd-url.ts']
  const [{ openEtcd }, { targetOf }] = await Promise.all(sources.map(async (source) => import(await bundled(source))))
  const store = etcd.storeUrl('bench-hand-over')
  const servers = [await startBaton({ store }), await startBaton({ store })]
  const owners = []
  for (const { url } of servers) owners.push(await startProcess(program, JSON.stringify({ kind: 'baton', url })))
  // One for each member: the leader answers sooner, and servers choose a member at random.
  const { endpoints } = targetOf(store)
  const clients = endpoints.map((endpoint) => openEtcd(targetOf(`etcd://${endpoint}/bench-commits`), systemTiming))
  try {
    const results = await inTurn({
      what: 'hand-over across servers',
      rounds,
      subjects: { baton: () => handOvers(owners, TIMES), commits: () => twoCommits(clients, TIMES) },
    })
    return { rows: rowsOf(results) }
  } finally {
    await Promise.all([...owners.map((each) => each.kill()), ...servers.map((server) => server.stop())])
    await Promise.all(clients.map((client) => client.close()))
  }
}

async function twoCommits(clients, times) {
  const samples = []
  for (let count = 0; count < times; count++) {
    const client = clients[count % clients.length]
    await pause(REST_MS)
    const startedMs = performance.now()
    for (const value of ['first', 'second'])
      await client.txn({ compare: [], success: [{ put: { key: 'bench-commits/key', value } }] })
    samples.push(performance.now() - startedMs)
  }
  return samples
}

function rowsOf(results) {
  const of = (name, part) => results[name].map((samples) => quantile(samples, part))
  const [mine, theirs] = [of('baton', 0.5), of('commits', 0.5)]
  const beyond = mine.map((each, round) => each - theirs[round])
  const row = (part) => {
    const beside = { 'two commits': of('commits', part) }
    const what = `hand-over across servers, p${part * 100}`
    return compared({ what, mine: of('baton', part), theirs: beside, isLessBetter: true, ...UNIT })
  }
  const what = 'hand-over, p50 beyond that of two commits'
  return [row(0.5), row(0.99), absolute({ what, mine: beyond, wanted: { most: 10 }, ...UNIT })]
}
