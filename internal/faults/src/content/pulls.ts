// Three nodes with fresh stores pull an image of 8 layers at the same time, again and again: each blob is to be fetched once by all
// of them together. `npm run content-pulls -- --times 10` (needs root, /dev/fuse, containerd, docker-registry, mergerfs).
// Prints a line a round, and a line of JSON at the end; exits with 1 if anything was fetched twice, or could not be read back.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { PROGRAMS } from '../programs.ts'
import { ContentCluster } from './content-cluster.ts'
import { pullRound } from './pull-round.ts'

const { values } = parseArgs({
  options: {
    times: { type: 'string', default: '10' },
    nodes: { type: 'string', default: '3' },
    layers: { type: 'string', default: '8' },
  },
})
const [TIMES, NODES, LAYERS] = [Number(values.times), Number(values.nodes), Number(values.layers)]
const names = Array.from({ length: NODES }, (_, place) => `n${place + 1}`)
let failures = 0

for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1))

for (let time = 1; time <= TIMES; time++) {
  const { gets, elapsedMs } = await round(time).catch((error) => {
    console.error(error)
    return { gets: new Map<string, number>(), elapsedMs: 0 }
  })
  const counts = [...gets.values()]
  const isGood = counts.length > 0 && counts.every((count) => count === 1)
  if (!isGood) failures++
  const seconds = (elapsedMs / 1_000).toFixed(1)
  console.log(
    `${isGood ? 'ok    ' : 'FAILED'} ${time}: ${NODES} nodes, GETs of each blob: ${counts.join(' ')} (${seconds} s)`,
  )
}
console.log(JSON.stringify({ times: TIMES, nodes: NODES, layers: LAYERS, failures }))
process.exit(failures > 0 ? 1 : 0)

async function round(time: number): Promise<Awaited<ReturnType<typeof pullRound>>> {
  const folder = mkdtempSync(join(tmpdir(), 'bc-'))
  const cluster = await ContentCluster.start({ folder, main: PROGRAMS.baton, names })
  try {
    await Promise.all(cluster.nodes.map((node) => node.start()))
    const image = await cluster.pushed({ name: `round-${time}`, layers: LAYERS, layerBytes: 1 << 20 })
    return await pullRound(cluster, image)
  } finally {
    await cluster.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
