// The servers of a benchmark: on free ports of the loopback, in temporary folders, ended by their pid.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build as ownBuild } from './build.mjs'
import { until } from './clock.mjs'
import { PATH } from './programs.mjs'

const READY_MS = 20_000

/** `baton serve` of a build. `nodeArgs` are flags of Node; a module loaded by them may write to descriptor 3. */
export async function startBaton({ store = 'memory:', build = ownBuild, nodeArgs = [], env = {} } = {}) {
  const args = [...nodeArgs, build.main, 'serve', '--port', '0', '--store', store]
  const stdio = ['ignore', 'pipe', 'inherit', 'pipe']
  const server = start(process.execPath, args, { env: { BATON_LOG_LEVEL: 'warn', ...env }, stdio })
  const url = await server.said(/listening on (http\S+)/)
  return { ...server, url }
}

/** One of internal/bench/floors, which print their port. */
export async function startFloor(name) {
  const server = start(process.execPath, [new URL(`../floors/${name}.mjs`, import.meta.url).pathname])
  const port = Number(await server.said(/port (\d+)/))
  return { ...server, port, url: `http://127.0.0.1:${port}` }
}

/** Without persistence. */
export async function startRedis() {
  const port = await freePort()
  const flags = { port, bind: '127.0.0.1', save: '', appendonly: 'no' }
  const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)])
  const server = start('redis-server', args)
  await untilOpen(port, server)
  return { ...server, port }
}

/**
 * A cluster with etcd's default durability. `url` lists all members, as etcd3 takes them; `storeUrl` is the URL of Baton's store under
 * a prefix.
 */
export async function startEtcd({ folder, members = 1 }) {
  const urlOf = async () => `http://127.0.0.1:${await freePort()}`
  const all = []
  for (let count = 1; count <= members; count++)
    all.push({ name: `member-${count}`, url: await urlOf(), peerUrl: await urlOf() })
  const cluster = all.map(({ name, peerUrl }) => `${name}=${peerUrl}`).join(',')
  const servers = all.map(({ name, url, peerUrl }) => {
    const flags = {
      name,
      'data-dir': join(folder, name),
      'listen-client-urls': url,
      'advertise-client-urls': url,
      'listen-peer-urls': peerUrl,
      'initial-advertise-peer-urls': peerUrl,
      'initial-cluster': cluster,
      'log-level': 'error',
    }
    return start(
      'etcd',
      Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`),
    )
  })
  // A member listens for clients once the cluster has a leader.
  await Promise.all(all.map(({ url }, at) => untilOpen(Number(new URL(url).port), servers[at])))
  const hosts = all.map(({ url }) => new URL(url).host).join(',')
  return {
    url: all.map(({ url }) => url).join(','),
    storeUrl: (prefix) => `etcd://${hosts}/${prefix}`,
    stop: () => Promise.all(servers.map((server) => server.stop())),
  }
}

/** A folder in `BENCH_FOLDER` or that of temporary files, removed when this process ends. */
export function temporaryFolder() {
  const folder = mkdtempSync(join(process.env.BENCH_FOLDER ?? tmpdir(), 'baton-bench-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Resident memory of a process, in bytes. */
export function rssOf(pid) {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) * 1_024
}

export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  return port
}

function start(program, args, { env = {}, stdio = ['ignore', 'pipe', 'pipe'] } = {}) {
  const child = spawn(program, args, { stdio, env: { ...process.env, PATH, ...env } })
  const onExit = () => child.kill('SIGKILL')
  process.on('exit', onExit)
  let output = ''
  let ended
  // Shown only if the program ends too early.
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text) => (output = `${output}${text}`.slice(-8_000)))
  const exited = new Promise((resolve) => {
    const end = (why) => {
      ended = `${program} ended with ${why}: ${output}`
      process.off('exit', onExit)
      resolve()
    }
    child.on('error', ({ message }) => end(message))
    child.on('exit', (code, signal) => end(code ?? signal))
  })
  const throwIfEnded = () => {
    if (ended) throw new Error(ended)
  }
  return {
    child,
    pid: child.pid,
    throwIfEnded,
    said: async (pattern) => {
      const look = () => pattern.exec(output)?.[1] ?? throwIfEnded()
      return until(look, { what: `${program} ${args.join(' ')} is ready`, withinMs: READY_MS, everyMs: 2 })
    },
    async stop(signal = 'SIGKILL') {
      child.kill(signal)
      await exited
    },
  }
}

function untilOpen(port, server) {
  const isOpen = () => {
    server.throwIfEnded()
    return new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1')
      socket.on('connect', () => resolve(true)).on('error', () => resolve(false))
      socket.on('connect', () => socket.destroy())
    })
  }
  return until(isOpen, { what: `port ${port} is open`, withinMs: READY_MS })
}
