// Shares of CPU by layer: a cycle in one process, and a server and its client in two.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { bundle } from '../../scripts/bundle.mjs'
import { root } from './lib/build.mjs'
import { layersOf } from './lib/layers.mjs'
import { startLoad } from './lib/load.mjs'
import { progress } from './lib/progress.mjs'
import { startBaton, temporaryFolder } from './lib/servers.mjs'

export const title = 'Shares of CPU by layer'
const CALLERS = 32
const SHOWN = 15

export async function measure({ seconds = 5, out }) {
  const build = await bundleWithSourceMaps()
  const folder = out ?? temporaryFolder()
  const profiled = (name) => ['--cpu-prof', `--cpu-prof-dir=${join(folder, name)}`]

  progress(`in process, ${seconds} s`)
  const alone = await startLoad({ kind: 'in-process', url: 'memory:', build, nodeArgs: profiled('in-process') })
  const own = await alone.run({ callers: CALLERS, seconds })
  await alone.end()
  progress(`server and client, ${seconds} s`)
  const server = await startBaton({ build, nodeArgs: profiled('server') })
  const load = await startLoad({ kind: 'baton', url: server.url, build, nodeArgs: profiled('client') })
  const served = await load.run({ callers: CALLERS, seconds })
  await load.end()
  await server.stop('SIGTERM')
  progress()

  show('in one process', readProfile(join(folder, 'in-process')), own.cycles)
  show('the server', readProfile(join(folder, 'server')), served.cycles)
  show('its client', readProfile(join(folder, 'client')), served.cycles)
  if (out) console.log(`\nprofiles, for the developer tools of a browser: ${folder}`)
  return {}
}

/** The same code as in a build, in one bundle with the client. */
async function bundleWithSourceMaps() {
  // As deep as `dist`: the command line reads the package.json above it.
  const outDir = mkdtempSync(join(root, 'packages/baton-lock/dist.'))
  process.on('exit', () => rmSync(outDir, { recursive: true, force: true }))
  const source = (name) => join(root, 'packages/baton-lock/src', name)
  await bundle({
    entries: { main: source('main.ts'), index: source('index.ts') },
    outDir,
    external: ['@opentelemetry/api', '@grpc/grpc-js', 'mysql2', 'protobufjs'],
    sourcemap: true,
  })
  return { main: join(outDir, 'main.js'), library: join(outDir, 'index.js') }
}

/** The longest profile of a process: threads have their own. */
function readProfile(folder) {
  const profiles = readdirSync(folder)
    .filter((name) => name.endsWith('.cpuprofile'))
    .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')))
  return profiles.sort((a, b) => b.samples.length - a.samples.length)[0]
}

function show(what, profile, cycles) {
  const { idleMs, busyMs, layers, functions } = layersOf(profile)
  const each = ((busyMs * 1_000) / cycles).toFixed(1)
  console.log(
    `\n${what}: ${CALLERS} callers, ${cycles} cycles, ${each} µs of CPU a cycle with start and profiler; idle ${share(idleMs / (idleMs + busyMs))}`,
  )
  for (const { name, share: part, ms } of layers.filter((layer) => layer.share >= 0.005))
    console.log(`  ${share(part)}  ${((ms * 1_000) / cycles).toFixed(2).padStart(7)} µs  ${name}`)
  console.log('  functions with the most self time:')
  for (const { name, share: part } of functions.slice(0, SHOWN)) console.log(`  ${share(part)}  ${name}`)
}

const share = (part) => `${(part * 100).toFixed(1).padStart(5)} %`
