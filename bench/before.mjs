// Cycles over a server and in process, beside an earlier commit (`--before REF`): each has its own server and its own client.
import { buildOf } from './lib/earlier-build.mjs'
import { startLoad } from './lib/load.mjs'
import { inTurn } from './lib/rounds.mjs'
import { startBaton } from './lib/servers.mjs'
import { dist } from './lib/settings.mjs'
import { compared, leftOut } from './lib/statistics.mjs'

export const title = 'Cycles over a server and in process, beside an earlier commit'

export async function measure({ rounds = 7, seconds = 2, before }) {
  if (!before) return { rows: [leftOut({ what: 'cycles', why: 'name the commit to compare with: --before REF' })] }
  const builds = { baton: dist, [before]: buildOf(before) }
  const started = []
  const rows = []
  try {
    const loads = { server: {}, inProcess: {} }
    for (const [name, build] of Object.entries(builds)) {
      const server = await startBaton({ dist: build })
      started.push(server)
      loads.server[name] = await startLoad({ kind: 'baton', url: server.url, dist: build })
      loads.inProcess[name] = await startLoad({ kind: 'in-process', url: 'memory:', dist: build })
    }
    const compare = async (what, of, callers) => {
      const subjects = Object.fromEntries(
        Object.entries(of).map(([name, load]) => [name, () => load.run({ callers, seconds })]),
      )
      const results = await inTurn({ what, rounds, subjects })
      const rates = (name) => results[name].map(({ perSecond }) => perSecond)
      rows.push(compared({ what, unit: '/s', mine: rates('baton'), theirs: { [before]: rates(before) } }))
    }
    for (const callers of [1, 32, 256]) await compare(`over a server, ${callers} callers`, loads.server, callers)
    await compare('in process, 32 callers', loads.inProcess, 32)
    for (const load of [...Object.values(loads.server), ...Object.values(loads.inProcess)]) await load.stop()
  } finally {
    for (const server of started) await server.stop?.()
  }
  return { rows }
}
