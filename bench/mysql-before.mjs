// Cycles of library mode on MySQL, beside an earlier commit (`--before REF`), each with a database of its own on one server.
import { buildOf } from './lib/earlier-build.mjs'
import { startLoad } from './lib/load.mjs'
import { whyMissing } from './lib/programs.mjs'
import { inTurn } from './lib/rounds.mjs'
import { dist } from './lib/settings.mjs'
import { compared, leftOut } from './lib/statistics.mjs'

export const title = 'Cycles in library mode on MariaDB, beside an earlier commit'

export async function measure({ rounds = 9, seconds = 2, callers = 32, before }) {
  const what = `MySQL, library mode, ${callers} callers`
  const why = before ? whyMissing('mariadbd') : 'name the commit to compare with: --before REF'
  if (why) return { rows: [leftOut({ what, why })] }
  const { startMariadb } = await import(`${dist}/testing/harness/mariadb.js`)
  const builds = { baton: dist, [before]: buildOf(before) }
  const mariadb = await startMariadb()
  const loads = []
  try {
    const subjects = {}
    for (const [name, build] of Object.entries(builds)) {
      const url = await mariadb.createDatabase(`bench_${loads.length}`)
      const load = await startLoad({ kind: 'in-process', url, dist: build })
      loads.push(load)
      subjects[name] = () => load.run({ callers, seconds })
    }
    const results = await inTurn({ what, rounds, subjects })
    const of = (name) => results[name].map(({ perSecond }) => perSecond)
    return {
      rows: [
        compared({ what, unit: '/s', mine: of('baton'), theirs: { [before]: of(before) }, wanted: { least: 1.3 } }),
      ],
    }
  } finally {
    await Promise.all(loads.map((load) => load.stop()))
    await mariadb.stop()
  }
}
