// How long others take for a lock while ten dashboards are open, beside the same without any.
// The dashboards run the model of the page without drawing, ten in one process: browsers would use more of two cores than the server.
import { fileURLToPath } from 'node:url'
import { bundled } from './lib/bundled.mjs'
import { startProcess } from './lib/child-process.mjs'
import { startLoad } from './lib/load.mjs'
import { inTurn } from './lib/rounds.mjs'
import { startBaton } from './lib/servers.mjs'
import { compared } from './lib/statistics.mjs'

export const title = 'Cycles of others while ten dashboards are open on 10,000 resources, beside the same without any'
const program = fileURLToPath(new URL('dashboards-process.mjs', import.meta.url))
const model = 'packages/dashboard/src/model/dashboard.ts'
const DASHBOARDS = 10
const CALLERS = 8

export async function measure({ rounds = 7, seconds = 3, locks = 10_000 }) {
  const server = await startBaton()
  const started = []
  try {
    const load = await startLoad({ kind: 'baton', url: server.url })
    started.push({ kill: () => load.stop() })
    await load.hold({ count: locks, prefix: 'held:' })
    const pages = await startProcess(program, JSON.stringify({ url: server.url, model: await bundled(model) }))
    started.push(pages)
    const say = async (what) => {
      pages.say(what)
      return pages.hear((line) => line.done === what.type)
    }
    const run = () => load.run({ callers: CALLERS, seconds })
    let read = 0
    const results = await inTurn({
      what: `${CALLERS} callers`,
      rounds,
      subjects: {
        without: run,
        with: async () => {
          const { rows } = await say({ type: 'open', count: DASHBOARDS, rows: locks })
          read = rows
          try {
            return await run()
          } finally {
            await say({ type: 'close' })
          }
        },
      },
    })
    const row = (what, unit, name, options) =>
      compared({
        what,
        unit,
        mine: results.with.map((each) => each[name]),
        theirs: { 'no dashboard': results.without.map((each) => each[name]) },
        ...options,
      })
    return {
      rows: [
        row('cycle, p99', 'ms', 'p99Ms', { isLessBetter: true, wanted: { most: 2 } }),
        row('cycle, p50', 'ms', 'p50Ms', { isLessBetter: true }),
        row('cycles a second', '/s', 'perSecond'),
      ],
      notes: [`each dashboard first read ${read.toLocaleString('en')} resources, and shows 30 that change`],
    }
  } finally {
    await Promise.all([...started.map((each) => each.kill()), server.stop()])
  }
}
