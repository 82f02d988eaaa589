// The time until the last of 1,000 waiters in 10 processes learns of a success, beside a bare `ws` broadcast of as many frames.
import { fileURLToPath } from 'node:url'
import { startProcess } from './lib/child-process.mjs'
import { pause } from './lib/clock.mjs'
import { whyNoPeers } from './lib/programs.mjs'
import { inTurn } from './lib/rounds.mjs'
import { startBaton, startFloor } from './lib/servers.mjs'
import { compared, leftOut } from './lib/statistics.mjs'
import { told } from './lib/tellers.mjs'

export const title = 'A success told to 1,000 waiters in 10 processes, beside a bare `ws` broadcast of as many frames'
const program = fileURLToPath(new URL('tell-process.mjs', import.meta.url))
const PROCESSES = 10
const FRAME_BYTES = 200
const REST_MS = 100
const is = (name) => (line) => line[name] !== undefined

export async function measure({ rounds = 9, waiters = 1_000 }) {
  const why = whyNoPeers()
  if (why) return { rows: [leftOut({ what: 'fan-out', why })] }
  const [server, floor] = [await startBaton(), await startFloor('ws')]
  const started = []
  const several = async (kind, url) => {
    const all = []
    for (let count = 0; count <= PROCESSES; count++)
      all.push(await startProcess(program, JSON.stringify({ kind, url })))
    started.push(...all)
    return all
  }
  const count = Math.ceil(waiters / PROCESSES)
  try {
    const [performer, ...waiting] = await several('baton', server.url)
    const [sender, ...hearing] = await several('ws', floor.url)
    const results = await inTurn({
      what: `${waiters} waiters`,
      rounds,
      subjects: {
        baton: () => told(performer, waiting, { count }),
        broadcast: () => broadcast(sender, hearing, count),
      },
    })
    const options = { unit: 'ms', isLessBetter: true, wanted: { most: 2 } }
    const mine = results.baton.map(({ toldMs }) => toldMs)
    const theirs = { 'bare broadcast': results.broadcast }
    return { rows: [compared({ what: `${waiters} waiters told, the last`, mine, theirs, ...options })] }
  } finally {
    await Promise.all([...started.map((each) => each.kill()), server.stop(), floor.stop()])
  }
}

async function broadcast(sender, hearing, count) {
  for (const each of hearing) each.say({ type: 'expect', count })
  await Promise.all(hearing.map((each) => each.hear(is('expecting'))))
  await pause(REST_MS)
  sender.say({ type: 'send', text: JSON.stringify({ frames: count, text: 'told'.padEnd(FRAME_BYTES) }) })
  const { sent } = await sender.hear(is('sent'))
  const lasts = await Promise.all(hearing.map((each) => each.hear(is('last'))))
  return Math.max(...lasts.map(({ last }) => last)) - sent
}
