// Three nodes on this machine pull one image at the same time: first with containerd's own content store, then with Baton's.
// Run it as root, after `npm run build`. Everything is in one folder, which is removed in the end.
import { mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { pushImage } from './image.mjs'
import { ask, start, stopAll, until } from './processes.mjs'

const NODES = ['node-a', 'node-b', 'node-c']
const MAIN = fileURLToPath(new URL('../../packages/baton-lock/dist/main.js', import.meta.url))
const here = fileURLToPath(new URL('.', import.meta.url))
// A short path: that of a socket has 107 bytes at most.
const work = await mkdtemp('/tmp/baton-')
const registryLog = join(work, 'registry.log')

for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) {
  process.once(signal, async () => {
    await stopAll(work)
    process.exit(1)
  })
}

try {
  const registry = await startRegistry()
  const { blobs } = await pushImage({ registry, name: 'demo', layers: 8, layerBytes: 1024 * 1024 })
  const image = `${registry}/demo:1`
  console.log(`an image of 8 layers: ${blobs} blobs\n`)

  console.log("three nodes with containerd's own content store pull it at the same time:")
  const plain = await Promise.all(NODES.map((node) => startContainerd(`plain-${node}`)))
  await pullOnAll(plain, image, blobs * NODES.length)

  console.log('three nodes with `baton content` pull it at the same time:')
  const server = await startLockServer()
  const configs = await Promise.all(NODES.map((node) => startContentStore(node, server)))
  const nodes = await Promise.all(NODES.map((node) => startContainerd(node, socketOf(node))))
  await pullOnAll(nodes, image, blobs)
  for (const config of configs) console.log(await baton('content', 'status', '--config', config))

  for (const [index, node] of nodes.entries()) {
    await ctr(node, 'image', 'rm', '--sync', image)
    if (index === NODES.length - 1) await until('every host folder is empty', async () => (await filesIn()) === 0)
    console.log(`removed on ${NODES[index]}: ${await filesIn()} blobs are left in the host folders`)
  }
} finally {
  await stopAll(work)
}

/** Resolves with its address. */
async function startRegistry() {
  const config = join(work, 'registry.yml')
  const storage = `filesystem: { rootdirectory: ${join(work, 'registry')} }`
  await writeFile(config, `version: 0.1\nstorage: { ${storage} }\nhttp: { addr: '127.0.0.1:0', secret: none }\n`)
  return start('docker-registry', ['serve', config], { log: registryLog, ready: /listening on (127\.0\.0\.1:\d+)/ })
}

/** Resolves with its URL. */
function startLockServer() {
  const args = [MAIN, 'serve', '--port', '0', '--store', `file:${join(work, 'lock')}`]
  return start(process.execPath, args, { log: join(work, 'lock.log'), ready: /listening on (http:\S+)/ })
}

/**
 * `content.toml`, with the folder of this example in place of `/data` and `/run`. Resolves with the path of the configuration.
 * @param {string} node
 * @param {string} server
 */
async function startContentStore(node, server) {
  const text = await readFile(join(here, 'content.toml'), 'utf8')
  const config = join(work, `${node}.toml`)
  await writeFile(
    config,
    text
      .replace('current_node = "node-a"', `current_node = "${node}"`)
      .replace('/run/baton/content.sock', socketOf(node))
      .replace('http://10.0.0.1:8086', server)
      .replaceAll('/data/', `${work}/`),
  )
  const args = [MAIN, 'content', '--config', config]
  await start(process.execPath, args, { log: join(work, `${node}.log`), ready: /baton content (listening)/ })
  return config
}

/**
 * `containerd.toml`, with folders of its own; without a content store, that of containerd itself. Resolves with its address.
 * @param {string} name
 * @param {string} [socket]
 */
async function startContainerd(name, socket) {
  const folder = join(work, 'containerd', name)
  const address = join(folder, 'c.sock')
  await mkdir(folder, { recursive: true })
  const text = await readFile(join(here, 'containerd.toml'), 'utf8')
  const [top = '', proxy = ''] = text.split('\n[proxy_plugins')
  // They would look for networks, and write outside of this folder.
  const unused = '"io.containerd.grpc.v1.cri", "io.containerd.internal.v1.opt"'
  const disabled = socket ? top.replace('= [', `= [${unused}, `) : top.replace(/= \[.*\]/, `= [${unused}]`)
  const folders = `root = "${folder}/root"\nstate = "${folder}/state"\n[grpc]\naddress = "${address}"\n`
  const own = `${disabled}${folders}[ttrpc]\naddress = "${folder}/t.sock"\n`
  const plugin = socket ? `\n[proxy_plugins${proxy.replace('/run/baton/content.sock', socket)}` : ''
  await writeFile(join(folder, 'config.toml'), own + plugin)
  const log = join(folder, 'log')
  await start('containerd', ['-c', join(folder, 'config.toml')], { log, ready: /containerd successfully (booted)/ })
  return address
}

/**
 * @param {string[]} nodes
 * @param {string} image
 * @param {number} expected
 */
async function pullOnAll(nodes, image, expected) {
  const before = (await gets()).length
  await Promise.all(nodes.map((node) => ctr(node, 'image', 'pull', '--plain-http', '--snapshotter', 'native', image)))
  // The registry writes its line after the last byte: a client may be done before.
  await until('the registry has logged', async () => (await gets()).length >= before + expected).catch(() => {})
  const all = (await gets()).slice(before)
  const digests = new Set(all)
  for (const digest of digests) {
    const count = all.filter((each) => each === digest).length
    console.log(`  ${count} ${count === 1 ? 'GET' : 'GETs'} of ${digest.slice(0, 19)}…`)
  }
  console.log(`  ${all.length} GETs of ${digests.size} blobs\n`)
}

/** The digests that the registry was asked for, an entry a GET. */
async function gets() {
  const lines = (await readFile(registryLog, 'utf8')).matchAll(/"GET \/v2\/\S+\/blobs\/(sha256:\w+) \S+" 200/g)
  return Array.from(lines, ([, digest = '']) => digest)
}

async function filesIn() {
  const lists = NODES.map((node) => readdir(join(work, node, 'host', 'blobs', 'sha256')))
  return (await Promise.all(lists)).flat().length
}

/** @param {string} node */
function socketOf(node) {
  return join(work, `${node}.sock`)
}

/** @param {string[]} args */
function baton(...args) {
  return ask(process.execPath, [MAIN, ...args])
}

/**
 * @param {string} address
 * @param {string[]} args
 */
function ctr(address, ...args) {
  return ask('ctr', ['-a', address, ...args])
}
