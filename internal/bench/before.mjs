// The speed of this build beside that of an earlier commit, by turns in one run. Every build has its own server, store and callers.
import { join } from 'node:path'
import { build } from './lib/build.mjs'
import { bundled } from './lib/bundled.mjs'
import { buildOf } from './lib/earlier-build.mjs'
import { startLoad } from './lib/load.mjs'
import { whyMissing } from './lib/programs.mjs'
import { inTurn } from './lib/rounds.mjs'
import { startBaton, startEtcd, temporaryFolder } from './lib/servers.mjs'
import { compared, leftOut } from './lib/statistics.mjs'

export const title = 'Cycles beside an earlier commit (a cycle: acquire, and release after its answer)'

/** The last commit before the workspaces. */
const BEFORE = '768272c'
const CALLERS = [1, 32, 256]
/** Enough for V8 to compile the code that matters. */
const WARM_UP_SECONDS = 2

/** The ways to use a build. Each starts a load and the servers that it needs. */
const PARTS = {
  'in-process': (build) => inLibrary(build, 'memory:'),
  server: (build) => overServer(build),
  durable: (build) => overServer(build, { store: `file:${join(temporaryFolder(), 'store')}` }),
  classic: (build) => overServer(build, { kind: 'classic' }),
  async mysql(build) {
    const { startMariadb } = await import(await bundled('internal/faults/src/harness/mariadb.ts'))
    const mariadb = await startMariadb()
    return inLibrary(build, await mariadb.createDatabase('bench'), mariadb)
  },
  async etcd(build) {
    const etcd = await startEtcd({ folder: join(temporaryFolder(), 'etcd') })
    return inLibrary(build, etcd.storeUrl('bench'), etcd)
  },
}
const DEFAULT_PARTS = 'in-process,server,durable,classic'
const PROGRAMS = { mysql: 'mariadbd', etcd: 'etcd' }

export async function measure({ rounds = 25, seconds = 0.3, before = BEFORE, parts = DEFAULT_PARTS }) {
  const names = parts.split(',')
  const unknown = names.find((name) => !PARTS[name])
  if (unknown !== undefined) throw new TypeError(`--parts ${unknown}: known are ${Object.keys(PARTS).join(', ')}`)
  const builds = { baton: build, [before]: buildOf(before) }
  const rows = []
  for (const name of names) {
    const why = PROGRAMS[name] && whyMissing(PROGRAMS[name])
    if (why) rows.push(leftOut({ what: name, why }))
    else rows.push(...(await comparePart({ name, builds, before, rounds, seconds })))
  }
  return { rows }
}

async function comparePart({ name, builds, before, rounds, seconds }) {
  const started = []
  const rows = []
  try {
    for (const each of Object.values(builds)) started.push(await PARTS[name](each))
    for (const callers of CALLERS) {
      const what = `${name}, ${callers} ${callers === 1 ? 'caller' : 'callers'}`
      const run =
        ({ load }) =>
        ({ isWarmUp }) =>
          load.run({ callers, seconds: isWarmUp ? WARM_UP_SECONDS : seconds })
      const subjects = Object.fromEntries(Object.keys(builds).map((each, index) => [each, run(started[index])]))
      const results = await inTurn({ what, rounds, subjects })
      const rates = (each) => results[each].map(({ perSecond }) => perSecond)
      const theirs = { [before]: rates(before) }
      rows.push(compared({ what, unit: '/s', mine: rates('baton'), theirs, wanted: { least: 0.95 } }))
    }
  } finally {
    for (const { load, servers } of started) for (const each of [load, ...servers]) await each.stop()
  }
  return rows
}

async function inLibrary(build, url, ...servers) {
  return { load: await startLoad({ kind: 'in-process', url, build }), servers }
}

async function overServer(build, { store, kind = 'baton' } = {}) {
  const server = await startBaton({ build, store })
  return { load: await startLoad({ kind, url: server.url, build }), servers: [server] }
}
