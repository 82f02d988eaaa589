// The memory of a server: after minutes at full speed, of a million held locks, and of a hundred thousand waiters.
import { fileURLToPath } from 'node:url'
import { startLoad } from './lib/load.mjs'
import { progress } from './lib/progress.mjs'
import { inTurn } from './lib/rounds.mjs'
import { rssOf, startBaton } from './lib/servers.mjs'
import { absolute, compared } from './lib/statistics.mjs'

export const title = 'Memory of a server: at full speed, of held locks, of waiters'
const heapProbe = fileURLToPath(new URL('lib/heap.mjs', import.meta.url))
const FEW = 1_000
const KEYS = 1_000
/** Clients with a session each, so that none of them has to keep all locks in its memory. */
const HOLDERS = 10
const MB = 1e6

export async function measure({ minutes = 5, locks = 1_000_000, waiters = 100_000, rounds = 7, seconds = 2 }) {
  const speed = await atFullSpeed(minutes)
  const held = await withHeldLocks({ locks, rounds, seconds })
  const stood = await withWaiters(waiters)
  return { rows: [...speed.rows, ...held, ...stood], series: speed.series }
}

/** 256 callers; the memory is sampled each second. It is flat if the last third has no more than the middle third. */
async function atFullSpeed(minutes) {
  const server = await startBaton()
  const load = await startLoad({ kind: 'baton', url: server.url })
  const points = []
  const sampling = setInterval(() => {
    points.push(rssOf(server.pid) / MB)
    progress(`full speed: ${points.length} s of ${minutes * 60}, ${points.at(-1).toFixed(0)} MB`)
  }, 1_000)
  try {
    const { perSecond } = await load.run({ callers: 256, seconds: minutes * 60 })
    clearInterval(sampling)
    progress()
    const third = Math.ceil(points.length / 3)
    const most = (from, to) => Math.max(...points.slice(from, to))
    const growth = most(-third) / most(-2 * third, -third)
    const series = [{ what: 'resident memory of the server at full speed', unit: 'MB', everySeconds: 1, points }]
    const what = `${minutes} min at full speed (${Math.round(perSecond)} cycles/s), RSS`
    return {
      rows: [
        absolute({ what: `${what}, the most`, unit: 'MB', mine: [Math.max(...points)], wanted: { most: 400 } }),
        absolute({ what: `${what}, last third to middle`, unit: 'times', mine: [growth], wanted: { most: 1.05 } }),
      ],
      series,
    }
  } finally {
    clearInterval(sampling)
    await Promise.all([load.stop(), server.stop()])
  }
}

/** Two servers, one with many held locks and one with few: heap per lock, and cycles of others, by turns. */
async function withHeldLocks({ locks, rounds, seconds }) {
  const few = await startWeighed()
  const many = await startWeighed()
  const started = [few, many]
  const loadOf = async (server) => {
    const load = await startLoad({ kind: 'baton', url: server.url })
    started.push(load)
    return load
  }
  try {
    await (await loadOf(few)).hold({ count: FEW, prefix: 'held:' })
    const holders = []
    for (let index = 0; index < HOLDERS; index++) holders.push(await loadOf(many))
    // Sessions, connections and compiled code do not depend on the number of locks: they exist before the first measurement.
    await Promise.all(holders.map((holder, index) => holder.hold({ count: FEW / HOLDERS, prefix: `first:${index}:` })))
    const before = await many.heap()
    progress(`taking ${locks} locks`)
    const each = Math.ceil(locks / HOLDERS)
    await Promise.all(holders.map((holder, index) => holder.hold({ count: each, prefix: `held:${index}:` })))
    const bytes = ((await many.heap()) - before) / (each * HOLDERS)
    const askers = { many: await loadOf(many), few: await loadOf(few) }
    const asking = (load) => () => load.run({ callers: 32, seconds })
    const subjects = { many: asking(askers.many), few: asking(askers.few) }
    const results = await inTurn({ what: `cycles beside ${locks} held locks`, rounds, subjects })
    const costs = (name) => results[name].map(({ perSecond }) => 1e6 / perSecond)
    const theirs = { [`beside ${FEW}`]: costs('few') }
    const wanted = { most: 1.3 }
    const what = `a cycle beside ${locks} held locks`
    return [
      absolute({ what: `${locks} held locks, heap each`, unit: 'bytes', mine: [bytes], wanted: { most: 1_000 } }),
      compared({ what, unit: 'µs', mine: costs('many'), theirs, isLessBetter: true, wanted }),
    ]
  } finally {
    await Promise.all(started.map((one) => one.stop()))
  }
}

async function withWaiters(waiters) {
  const server = await startWeighed()
  const started = [server]
  try {
    const loads = []
    for (let index = 0; index <= HOLDERS; index++) {
      loads.push(await startLoad({ kind: 'baton', url: server.url }))
      started.push(loads.at(-1))
    }
    const [holder, ...standers] = loads
    await holder.hold({ count: KEYS, prefix: 'line:' })
    const first = { count: FEW / HOLDERS, prefix: 'line:', keys: KEYS }
    await Promise.all(standers.map((stander) => stander.wait(first)))
    const before = await server.heap()
    progress(`${waiters} waiters`)
    const each = Math.ceil(waiters / HOLDERS)
    await Promise.all(standers.map((stander) => stander.wait({ count: each, prefix: 'line:', keys: KEYS })))
    const bytes = ((await server.heap()) - before) / (each * HOLDERS)
    progress()
    const what = `${waiters} waiters on ${KEYS} keys, heap each`
    return [absolute({ what, unit: 'bytes', mine: [bytes], wanted: { most: 1_500 } })]
  } finally {
    await Promise.all(started.map((one) => one.stop()))
  }
}

/** A server that reports its heap after a garbage collection. */
async function startWeighed() {
  const nodeArgs = ['--expose-gc', '--max-old-space-size=6000', '--import', heapProbe]
  const server = await startBaton({ nodeArgs })
  const heap = () =>
    new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error('the server did not report its heap')), 60_000)
      server.child.stdio[3].once('data', (text) => {
        clearTimeout(late)
        resolve(Number(text))
      })
      server.child.kill('SIGUSR2')
    })
  return { ...server, heap }
}
