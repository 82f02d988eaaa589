// The classic POST /lock beside a bare node:http server with a Map that answers the same JSON.
import { postLocks } from './lib/http-load.mjs'
import { whyMissing } from './lib/programs.mjs'
import { inTurn } from './lib/rounds.mjs'
import { startBaton, startFloor } from './lib/servers.mjs'
import { compared, leftOut } from './lib/statistics.mjs'

export const title = 'Classic POST /lock, a new resource each time, beside a bare node:http server with a Map'

export async function measure({ rounds = 7, seconds = 2, connections = 32 }) {
  const why = whyMissing('wrk')
  if (why) return { rows: [leftOut({ what: 'POST /lock', why })] }
  const baton = await startBaton()
  const floor = await startFloor('http')
  const asking = (server) => () => postLocks({ url: server.url, connections, seconds })
  try {
    const subjects = { baton: asking(baton), floor: asking(floor) }
    const results = await inTurn({ what: `POST /lock, ${connections} connections`, rounds, subjects })
    const row = (what, figure, options) => {
      const of = (name) => results[name].map((each) => each[figure])
      return compared({ what, mine: of('baton'), theirs: { 'bare node:http': of('floor') }, ...options })
    }
    return {
      rows: [
        row('POST /lock, rate', 'perSecond', { unit: '/s', wanted: { least: 0.6 } }),
        row('POST /lock, p50', 'p50Ms', { unit: 'ms', isLessBetter: true }),
        row('POST /lock, p99', 'p99Ms', { unit: 'ms', isLessBetter: true, wanted: { most: 3 } }),
      ],
    }
  } finally {
    await Promise.all([baton.stop(), floor.stop()])
  }
}
