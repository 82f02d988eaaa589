// From a release in one process to the start of the callback in another, beside a ping from one to the other over a bare stream.
import { fileURLToPath } from 'node:url'
import { startProcess } from './lib/child-process.mjs'
import { pause } from './lib/clock.mjs'
import { whyNoPeers } from './lib/programs.mjs'
import { inTurn } from './lib/rounds.mjs'
import { startBaton, startFloor } from './lib/servers.mjs'
import { compared, leftOut, quantile } from './lib/statistics.mjs'
import { handOvers, REST_MS } from './lib/tellers.mjs'

export const title = 'Hand-over between two processes, beside a ping over a bare `ws` stream'
const program = fileURLToPath(new URL('tell-process.mjs', import.meta.url))
/** Per round. With fewer, V8 would not have compiled most of the code, unlike in a server that has been up for a minute. */
const TIMES = 400
const is = (name) => (line) => line[name] !== undefined

export async function measure({ rounds = 7, times = TIMES }) {
  const why = whyNoPeers()
  if (why) return { rows: [leftOut({ what: 'hand-over', why })] }
  const [server, floor] = [await startBaton(), await startFloor('ws')]
  const started = []
  const pairOf = async (kind, url) => {
    for (let count = 0; count < 2; count++) started.push(await startProcess(program, JSON.stringify({ kind, url })))
    return started.slice(-2)
  }
  try {
    const owners = await pairOf('baton', server.url)
    const pingers = await pairOf('ws', floor.url)
    const results = await inTurn({
      what: 'hand-over',
      rounds,
      subjects: { baton: () => handOvers(owners, times), ping: () => pings(pingers, times) },
    })
    const row = (part, wanted) => {
      const of = (name) => results[name].map((samples) => quantile(samples, part))
      const theirs = { 'bare ping': of('ping') }
      return compared({
        what: `hand-over, p${part * 100}`,
        unit: 'ms',
        mine: of('baton'),
        theirs,
        isLessBetter: true,
        wanted,
      })
    }
    return { rows: [row(0.5, { most: 3 }), row(0.99)] }
  } finally {
    await Promise.all([...started.map((each) => each.kill()), server.stop(), floor.stop()])
  }
}

async function pings([first, second], times) {
  const samples = []
  let [sender, hearer] = [first, second]
  for (let count = 0; count < times; count++) {
    hearer.say({ type: 'expect', count: 1 })
    await hearer.hear(is('expecting'))
    await pause(REST_MS)
    sender.say({ type: 'send', text: `ping ${count}`.padEnd(200) })
    const [{ sent }, { last }] = await Promise.all([sender.hear(is('sent')), hearer.hear(is('last'))])
    samples.push(last - sent)
    ;[sender, hearer] = [hearer, sender]
  }
  return samples
}
