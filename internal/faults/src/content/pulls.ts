import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { argumentsOf } from '../arguments.ts'
import { PROGRAMS } from '../programs.ts'
import { ContentCluster } from './content-cluster.ts'
import { pullRound } from './pull-round.ts'

const USAGE = `
Containerd nodes with fresh stores pull the same image at the same time. Exits with 1 if a blob was fetched twice, or cannot be read back.
Needs root, /dev/fuse, containerd, docker-registry and mergerfs.

npm run content-pulls -- --times 10

--times 10     so many pulls
--nodes 3      so many nodes
--layers 8     so many layers in the image
`

const { values } = argumentsOf(USAGE, {
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
