// Savings and costs of the content store: GETs, bytes and time of pulls beside containerd's own store, the time to unpack
// through it, and its memory. Needs root, containerd, docker-registry and mergerfs.

import { spawn } from 'node:child_process'
import { createCipheriv, createHash } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { build } from './lib/build.mjs'
import { bundled } from './lib/bundled.mjs'

const { ContentCluster } = await import(await bundled('internal/faults/src/content/content-cluster.ts'))
const { startContainerd } = await import(await bundled('internal/faults/src/content/containerd-node.ts'))

const MIB = 1024 * 1024
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5)
const NODES = (process.env.BENCH_NODES ?? '1,3,8').split(',').map(Number)
const LAYERS = 8
const LAYER_MIB = Number(process.env.BENCH_LAYER_MIB ?? 4)
/** The throttled speed of the registry, shared by all bodies. */
const LINK_MIB_S = Number(process.env.BENCH_LINK_MIB_S ?? 32)
const SHARE_MS = 20
const UNPACKS = Number(process.env.BENCH_UNPACKS ?? 9)
const UNPACKED_MIB = 32
const LARGE_MIB = Number(process.env.BENCH_LARGE_MIB ?? 1024)
const CALL = { timeoutMs: 600_000 }
// A short path, because sockets are in it.
const work = mkdtempSync(join(process.env.BENCH_FOLDER ?? '/tmp', 'bc-'))

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]
const inMib = (bytes) => (bytes / MIB).toFixed(1)
const names = (count) => Array.from({ length: count }, (_, place) => `n${place}`)

async function withCluster(count, task) {
  const cluster = await ContentCluster.start({ folder: join(work, 'c'), main: build.main, names: names(count) })
  try {
    for (const node of cluster.nodes) await node.start()
    return await task(cluster)
  } finally {
    await cluster.stop()
  }
}

/** As many nodes with containerd's own content store, on the same registry. */
async function withBuiltIn(cluster, task) {
  const nodes = []
  try {
    for (const { name } of cluster.nodes) {
      const containerd = await startContainerd({ folder: join(work, `p-${name}`), name: `plain-${name}` })
      nodes.push({ containerd, door: await cluster.link.open(`plain-${name}`) })
    }
    return await task(nodes)
  } finally {
    await Promise.all(nodes.map(({ containerd }) => containerd.stop()))
  }
}

/** All bodies under way share the link equally, so what one node does not fetch speeds up the others. */
function shareLink({ link }, image) {
  const sizes = new Map(image.blobs.map(({ digest, size }) => [digest, size]))
  const share = () => {
    const underWay = link.gets.filter(({ digest, bytes }) => bytes < sizes.get(digest)).length
    link.faults.throttle((LINK_MIB_S * MIB) / Math.max(1, underWay))
  }
  share()
  const sharing = setInterval(share, SHARE_MS)
  return () => {
    clearInterval(sharing)
    link.faults.throttle(undefined)
  }
}

/** All nodes pull and unpack it at the same time. */
async function pulled(cluster, nodes, image, isThrottled) {
  cluster.link.resetGets()
  const unshare = isThrottled ? shareLink(cluster, image) : () => {}
  const startMs = performance.now()
  await Promise.all(nodes.map(({ containerd, door }) => containerd.pull(image.at(door), CALL)))
  const ms = performance.now() - startMs
  unshare()
  const bytes = cluster.link.gets.reduce((sum, get) => sum + get.bytes, 0)
  return { ms, gets: cluster.link.gets.length, bytes }
}

async function comparePulls(count) {
  const runs = { throttled: { baton: [], 'built-in': [] }, unthrottled: { baton: [], 'built-in': [] } }
  await withCluster(count, (cluster) =>
    withBuiltIn(cluster, async (plain) => {
      const stores = { baton: cluster.nodes, 'built-in': plain }
      // By turns, so that other work of this machine slows all of them. The first round only warms up.
      for (let round = 0; round <= ROUNDS; round++) {
        for (const [link, kinds] of Object.entries(runs)) {
          const name = `${link}-${round}`
          const image = await cluster.pushed({ name, layers: LAYERS, layerBytes: LAYER_MIB * MIB })
          const order = round % 2 === 0 ? Object.keys(stores) : Object.keys(stores).reverse()
          for (const kind of order) {
            const run = await pulled(cluster, stores[kind], image, link === 'throttled')
            if (round > 0) kinds[kind].push(run)
            for (const { containerd, door } of stores[kind]) await containerd.removeImage(image.at(door), CALL)
          }
        }
      }
    }),
  )
  for (const [link, kinds] of Object.entries(runs)) {
    for (const [kind, all] of Object.entries(kinds)) {
      const of = (what) => median(all.map((run) => run[what]))
      console.log(
        [String(count).padStart(5), kind.padEnd(8), link.padEnd(11), String(of('gets')).padStart(4)].join('  ') +
          `  ${inMib(of('bytes')).padStart(9)}  ${(of('ms') / 1_000).toFixed(2).padStart(9)}`,
      )
    }
  }
}

async function compareUnpacking() {
  const times = { 'built-in': [], own: [], adopted: [] }
  await withCluster(2, (cluster) =>
    withBuiltIn(cluster, async ([plain]) => {
      const image = await cluster.pushed({ name: 'unpacked', layers: 1, layerBytes: UNPACKED_MIB * MIB })
      const [own, adopted] = cluster.nodes
      const nodes = { 'built-in': plain, own, adopted }
      for (const { containerd, door } of Object.values(nodes)) await containerd.pull(image.at(door), CALL)
      if (adopted.hostBlobs().length > 0) throw new Error('the second node fetched blobs that it could have adopted')
      for (let round = 0; round <= UNPACKS; round++) {
        for (const [name, { containerd }] of Object.entries(nodes)) {
          const { appliedMs } = await containerd.unpackAgain(image.manifest.digest, CALL)
          if (round > 0) times[name].push(appliedMs)
        }
      }
    }),
  )
  const builtIn = median(times['built-in'])
  for (const [name, all] of Object.entries(times)) {
    const ratio = (median(all) / builtIn).toFixed(2)
    const [least, most] = [Math.min(...all), Math.max(...all)].map((ms) => ms.toFixed(0))
    console.log(
      `${name.padEnd(8)}  ${median(all).toFixed(0).padStart(5)} ms (${least} to ${most}), ${ratio} of built-in`,
    )
  }
}

/** The memory of a fresh content store after a blob was written and read through containerd. */
async function memoryAfter(mib) {
  const path = join(work, 'blob')
  const { digest, size } = await writeRandom(path, mib * MIB)
  return withCluster(1, async ({ nodes: [node] }) => {
    const ctr = async (args, input) => {
      const child = spawn('ctr', ['-a', node.containerd.socket, 'content', ...args], {
        stdio: [input ? openSync(input, 'r') : 'ignore', 'ignore', 'inherit'],
      })
      const [code] = await once(child, 'exit')
      if (code !== 0) throw new Error(`ctr content ${args[0]} ended with ${code}`)
    }
    // A containerd that has just started collects blobs without an image.
    await node.containerd.collectGarbage()
    await ctr(['ingest', '--expected-size', String(size), '--expected-digest', digest, `layer-${digest}`], path)
    await ctr(['get', digest])
    const status = readFileSync(`/proc/${node.storePid}/status`, 'utf8')
    const kib = (what) => Number(new RegExp(`${what}:\\s+(\\d+) kB`).exec(status)[1])
    rmSync(path)
    return { now: kib('VmRSS') / 1_024, most: kib('VmHWM') / 1_024 }
  })
}

async function writeRandom(path, size) {
  const hash = createHash('sha256')
  const cipher = createCipheriv('aes-256-ctr', Buffer.alloc(32, 7), Buffer.alloc(16))
  const file = createWriteStream(path)
  for (let left = size; left > 0; left -= MIB) {
    const piece = cipher.update(Buffer.alloc(Math.min(MIB, left)))
    hash.update(piece)
    if (!file.write(piece)) await once(file, 'drain')
  }
  file.end()
  await once(file, 'close')
  return { digest: `sha256:${hash.digest('hex')}`, size }
}

try {
  console.log(
    `${LAYERS} layers of ${LAYER_MIB} MiB, pulled and unpacked by all nodes at the same time; medians of ${ROUNDS} rounds, by turns\n` +
      `throttled: ${LINK_MIB_S} MiB/s for all bodies of the registry together`,
  )
  console.log('nodes  store     link         GETs        MiB  seconds')
  for (const count of NODES) await comparePulls(count)
  console.log(`\na layer of ${UNPACKED_MIB} MiB unpacked again, as containerd logs it; medians of ${UNPACKS}, by turns`)
  await compareUnpacking()
  console.log('\nresident memory of a fresh content store after ctr wrote and read a blob, and its peak')
  for (const mib of [1, LARGE_MIB]) {
    const { now, most } = await memoryAfter(mib)
    console.log(`${String(mib).padStart(5)} MiB: ${now.toFixed(0)} MiB, ${most.toFixed(0)} MiB`)
  }
} finally {
  rmSync(work, { recursive: true, force: true })
}
