// Callers that take one lock over and over: in five processes in library mode, beside as many callers in one process.
import { fileURLToPath } from 'node:url'
import { startProcess } from '../lib/child-process.mjs'
import { sharedNowMs } from '../lib/clock.mjs'
import { inTurn } from '../lib/rounds.mjs'
import { compared } from '../lib/statistics.mjs'
import { outOfOrder } from './fifo.mjs'

const program = fileURLToPath(new URL('hot-key-process.mjs', import.meta.url))
const CALLERS = 50
const PROCESSES = 5
/** Until then, the request has reached all processes. */
const SOON_MS = 50

export async function hotKey({ etcd, rounds, seconds }) {
  const started = []
  const several = async (count) => {
    const url = etcd.storeUrl(`bench-hot-${count}`)
    const all = []
    for (let at = 1; at <= count; at++) all.push(await startProcess(program, JSON.stringify({ url, node: `n${at}` })))
    started.push(...all)
    return all
  }
  try {
    const [one, five] = [await several(1), await several(PROCESSES)]
    const results = await inTurn({
      what: `${CALLERS} callers on one key`,
      rounds,
      // Long enough for every caller to get the lock several times.
      subjects: { five: () => taken(five, 2 * seconds), one: () => taken(one, 2 * seconds) },
    })
    const of = (name) => results[name].map(({ perSecond }) => perSecond)
    const row = compared({
      what: `${CALLERS} callers on one key, from ${PROCESSES} processes`,
      unit: '/s',
      mine: of('five'),
      theirs: { 'from one process': of('one') },
      wanted: { least: 0.5 },
    })
    return { rows: [row], notes: [fifoNote(results)] }
  } finally {
    await Promise.all(started.map((each) => each.kill()))
  }
}

let keys = 0

async function taken(processes, seconds) {
  const request = {
    key: `hot-${++keys}`,
    callers: CALLERS / processes.length,
    startMs: sharedNowMs() + SOON_MS,
    seconds,
  }
  for (const each of processes) each.say(request)
  const said = await Promise.all(processes.map((each) => each.hear(({ holds }) => holds !== undefined)))
  const holds = said.flatMap((each) => each.holds)
  const tookMs = Math.max(...said.map(({ endedMs }) => endedMs)) - request.startMs
  return { perSecond: holds.length / (tookMs / 1_000), count: holds.length, broken: outOfOrder(holds) }
}

function fifoNote(results) {
  const rounds = Object.values(results).flat()
  const grants = rounds.reduce((sum, { count }) => sum + count, 0)
  const broken = rounds.flatMap((round) => round.broken)
  const verdict = broken.length === 0 ? 'kept' : `NOT KEPT: ${broken.slice(0, 3).join('; ')}`
  return `FIFO on one key, ${grants} grants by fence and place in line: ${verdict}`
}
