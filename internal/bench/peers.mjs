// Cycles a second beside redlock and verrou on Redis: one process of callers at a server each, and Baton in one process.

import { startLoad } from './lib/load.mjs'
import { whyMissing, whyNoPeers } from './lib/programs.mjs'
import { inTurn } from './lib/rounds.mjs'
import { startBaton, startRedis } from './lib/servers.mjs'
import { compared, leftOut } from './lib/statistics.mjs'

export const title = 'Cycles beside redlock and verrou on Redis (a cycle: acquire, and release after its answer)'

export async function measure({ rounds = 7, seconds = 2, callers = [1, 32, 256], inProcess = true }) {
  const why = whyMissing('redis-server') ?? whyNoPeers()
  if (why) return { rows: [leftOut({ what: 'cycles beside redlock and verrou', why })] }
  const baton = await startBaton()
  const redis = await startRedis()
  const loads = {
    baton: await startLoad({ kind: 'baton', url: baton.url }),
    redlock: await startLoad({ kind: 'redlock', url: `redis://127.0.0.1:${redis.port}` }),
    verrou: await startLoad({ kind: 'verrou', url: `redis://127.0.0.1:${redis.port}` }),
    ...(inProcess && { 'in process': await startLoad({ kind: 'in-process', url: 'memory:' }) }),
  }
  const rows = []
  try {
    for (const count of callers) rows.push(...rowsOf(count, await turns(loads, { rounds, seconds, count })))
  } finally {
    await Promise.all([...Object.values(loads), baton, redis].map((each) => each.stop()))
  }
  return { rows }
}

function turns(loads, { rounds, seconds, count }) {
  const asked = Object.entries(loads).filter(([name]) => name !== 'in process' || count === 32)
  const subjects = asked.map(([name, load]) => [
    name,
    ({ isWarmUp }) => load.run({ callers: count, seconds: isWarmUp ? Math.min(1, seconds) : seconds }),
  ])
  return inTurn({ what: `${count} callers`, rounds, subjects: Object.fromEntries(subjects) })
}

function rowsOf(count, results) {
  const of = (name, figure) => results[name].map((each) => each[figure])
  const peers = (figure) => ({ redlock: of('redlock', figure), verrou: of('verrou', figure) })
  if (count === 1) {
    const wanted = { most: 2.5, aim: 1.5 }
    const verrou = { verrou: of('verrou', 'p50Ms') }
    return [
      compared({
        what: '1 caller, p50',
        unit: 'ms',
        mine: of('baton', 'p50Ms'),
        theirs: verrou,
        wanted,
        isLessBetter: true,
      }),
    ]
  }
  const wanted = count === 256 ? { least: 1, aim: 2 } : { least: 1 }
  const mine = of('baton', 'perSecond')
  const rows = [compared({ what: `${count} callers`, unit: '/s', mine, theirs: peers('perSecond'), wanted })]
  if (results['in process']) {
    const least = Number(process.versions.node.split('.')[0]) >= 24 ? 2 : 1
    const theirs = { verrou: of('verrou', 'perSecond') }
    const own = of('in process', 'perSecond')
    rows.push(compared({ what: `${count} callers, in process`, unit: '/s', mine: own, theirs, wanted: { least } }))
  }
  return rows
}
