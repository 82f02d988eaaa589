// Cycles per second: Baton in library mode, which runs in the process of its callers as the lock of `etcd3` does, and through a server.
import { startLoad } from '../lib/load.mjs'
import { inTurn } from '../lib/rounds.mjs'
import { startBaton } from '../lib/servers.mjs'
import { compared } from '../lib/statistics.mjs'

const CALLERS = [1, 32, 256]
/**
 * A shared machine changes its speed within a second. With one caller, a round is this many short turns instead of one; with many
 * callers, short turns would be too short.
 */
const TURNS = { 1: 4 }
const WANTED = { 1: { least: 1 }, 256: { least: 3 } }

export async function cycles({ etcd, rounds, seconds }) {
  // Each has its own prefix, so that it does not watch the changes of the other.
  const server = await startBaton({ store: etcd.storeUrl('bench-server') })
  const loads = {
    library: await startLoad({ kind: 'in-process', url: etcd.storeUrl('bench-library') }),
    etcd3: await startLoad({ kind: 'etcd', url: etcd.url }),
    server: await startLoad({ kind: 'baton', url: server.url }),
  }
  const rows = []
  try {
    for (const callers of CALLERS) {
      const turns = TURNS[callers] ?? 1
      const asking = Object.entries(loads).map(([name, load]) => [
        name,
        ({ isWarmUp }) => load.run({ callers, seconds: isWarmUp ? seconds : seconds / turns }),
      ])
      const subjects = Object.fromEntries(asking)
      const results = await inTurn({ what: `${callers} callers`, rounds: turns * rounds, subjects })
      rows.push(...rowsOf(callers, results))
    }
  } finally {
    await Promise.all([...Object.values(loads), server].map((each) => each.stop()))
  }
  return { rows }
}

function rowsOf(callers, results) {
  const of = (name) => results[name].map(({ perSecond }) => perSecond)
  const what = `${callers} caller${callers === 1 ? '' : 's'}`
  const beside = { unit: '/s', theirs: { etcd3: of('etcd3') } }
  return [
    compared({ what: `${what}, library mode`, mine: of('library'), wanted: WANTED[callers], ...beside }),
    compared({ what: `${what}, through a server`, mine: of('server'), ...beside }),
  ]
}
