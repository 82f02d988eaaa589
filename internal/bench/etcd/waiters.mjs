// Very many waiters on one key, half of them at each of two servers: the time until the last one learns of a success.
import { fileURLToPath } from 'node:url'
import { startProcess } from '../lib/child-process.mjs'
import { pause } from '../lib/clock.mjs'
import { inTurn } from '../lib/rounds.mjs'
import { startBaton } from '../lib/servers.mjs'
import { absolute, leftOut } from '../lib/statistics.mjs'
import { told } from '../lib/tellers.mjs'

const program = fileURLToPath(new URL('../tell-process.mjs', import.meta.url))
/** Processes of waiters; another one does the work. */
const PROCESSES = 4
const MANY = 1_000
/** The default limit of a queue. */
const MOST = 10_000
/** If `MOST` waiters take longer, the result says so. */
const MOST_MS = 60_000
/** Waiters of a process that are being queued at a time. */
const AT_ONCE = 64

export async function waiters({ etcd, rounds }) {
  const store = etcd.storeUrl('bench-waiters')
  const servers = [await startBaton({ store }), await startBaton({ store })]
  const started = []
  for (let count = 0; count <= PROCESSES; count++) {
    const { url } = servers[count % servers.length]
    started.push(await startProcess(program, JSON.stringify({ kind: 'baton', url })))
  }
  const [performer, ...waiting] = started
  const telling = (most) => {
    return ({ isWarmUp }) => told(performer, waiting, { count: (isWarmUp ? MANY : most) / PROCESSES, atOnce: AT_ONCE })
  }
  try {
    const many = await inTurn({ what: `${MANY} waiters`, rounds, subjects: { baton: telling(MANY) } })
    const most = await within(
      MOST_MS,
      inTurn({ what: `${MOST} waiters`, rounds: 1, subjects: { baton: telling(MOST) } }),
    )
    const row = (count, figure, results, wanted) => {
      const mine = results.baton.map((each) => each[figure])
      const what = { toldMs: 'told, the last', queuedMs: 'queued, the last' }[figure]
      return absolute({ what: `${count.toLocaleString('en')} waiters, ${what}`, unit: 'ms', mine, wanted })
    }
    const rows = [row(MANY, 'queuedMs', many), row(MANY, 'toldMs', many, { most: 1_000 })]
    if (most) return { rows: [...rows, row(MOST, 'queuedMs', most), row(MOST, 'toldMs', most)] }
    const why = `they were not all told within ${MOST_MS / 1_000} s`
    return { rows: [...rows, leftOut({ what: `${MOST.toLocaleString('en')} waiters`, why })] }
  } finally {
    await Promise.all([...started.map((each) => each.kill()), ...servers.map((server) => server.stop())])
  }
}

/** `undefined` if the promise takes longer. */
function within(limitMs, promise) {
  // It may still fail after the limit.
  promise.catch(() => {})
  return Promise.race([promise, pause(limitMs)])
}
