// Shares of CPU by layer: of a cycle in one process, and of a server and its client in two.
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { layersOf } from './lib/layers.mjs'
import { startLoad } from './lib/load.mjs'
import { progress } from './lib/progress.mjs'
import { startBaton, temporaryFolder } from './lib/servers.mjs'
import { dist } from './lib/settings.mjs'

export const title = 'Shares of CPU by layer'
const CALLERS = 32
const SHOWN = 15

export async function measure({ seconds = 5, out }) {
  const project = dirname(resolve(dist))
  const build = join(project, `dist.profile-${process.pid}`)
  // The command line is bundled when it is built, and then nothing says which folder a function came from.
  const { status } = spawnSync(
    process.execPath,
    ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', '--outDir', build],
    { cwd: project, stdio: 'inherit' },
  )
  process.on('exit', () => rmSync(build, { recursive: true, force: true }))
  if (status !== 0) throw new Error('the sources do not compile')
  const folder = out ?? temporaryFolder()
  const profiled = (name) => ['--cpu-prof', `--cpu-prof-dir=${join(folder, name)}`]

  progress(`in process, ${seconds} s`)
  const alone = await startLoad({ kind: 'in-process', url: 'memory:', dist: build, nodeArgs: profiled('in-process') })
  const own = await alone.run({ callers: CALLERS, seconds })
  await alone.end()
  progress(`server and client, ${seconds} s`)
  const server = await startBaton({ dist: build, nodeArgs: profiled('server') })
  const load = await startLoad({ kind: 'baton', url: server.url, dist: build, nodeArgs: profiled('client') })
  const served = await load.run({ callers: CALLERS, seconds })
  await load.end()
  await server.stop('SIGTERM')
  progress()

  show('in one process', readProfile(join(folder, 'in-process')), { build, cycles: own.cycles })
  show('the server', readProfile(join(folder, 'server')), { build, cycles: served.cycles })
  show('its client', readProfile(join(folder, 'client')), { build, cycles: served.cycles })
  if (out) console.log(`\nthe profiles, for the tools of a browser: ${folder}`)
  return {}
}

/** The one that took the longest: a process may have threads, each with a profile of its own. */
function readProfile(folder) {
  const profiles = readdirSync(folder)
    .filter((name) => name.endsWith('.cpuprofile'))
    .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')))
  return profiles.sort((a, b) => b.samples.length - a.samples.length)[0]
}

function show(what, profile, { build, cycles }) {
  const { idleMs, busyMs, layers, functions } = layersOf(profile, build)
  const each = ((busyMs * 1_000) / cycles).toFixed(1)
  console.log(
    `\n${what}: ${CALLERS} callers, ${cycles} cycles, ${each} µs of CPU a cycle with start and profiler; idle ${share(idleMs / (idleMs + busyMs))}`,
  )
  for (const { name, share: part, ms } of layers.filter((layer) => layer.share >= 0.005))
    console.log(`  ${share(part)}  ${((ms * 1_000) / cycles).toFixed(2).padStart(7)} µs  ${name}`)
  console.log('  the functions that took the most themselves:')
  for (const { name, share: part } of functions.slice(0, SHOWN)) console.log(`  ${share(part)}  ${name}`)
}

const share = (part) => `${(part * 100).toFixed(1).padStart(5)} %`
