// Servers of a benchmark's own: on free ports of the loopback, in temporary folders, ended by their pid.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from './clock.mjs'
import { PATH } from './programs.mjs'
import { dist as ownDist } from './settings.mjs'

const READY_MS = 20_000

/** `baton serve` as it is built. `nodeArgs` go before the program; descriptor 3 is for what they load. */
export async function startBaton({ store = 'memory:', dist = ownDist, nodeArgs = [], env = {} } = {}) {
  const args = [...nodeArgs, `${dist}/main.js`, 'serve', '--port', '0', '--store', store]
  const server = start(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit', 'pipe'] })
  const url = await server.said(/listening on (http\S+)/)
  return { ...server, url }
}

/** A server of ours that prints its port: one of bench/floors. */
export async function startFloor(name) {
  const server = start(process.execPath, [new URL(`../floors/${name}.mjs`, import.meta.url).pathname])
  const port = Number(await server.said(/port (\d+)/))
  return { ...server, port, url: `http://127.0.0.1:${port}` }
}

/** Nothing is kept on a disk. */
export async function startRedis() {
  const port = await freePort()
  const flags = { port, bind: '127.0.0.1', save: '', appendonly: 'no' }
  const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)])
  const server = start('redis-server', args)
  await untilOpen(port, server)
  return { ...server, port }
}

/**
 * As many members as are asked for, as durable as they are by default, in a folder beside which the file store of a comparison
 * lies. `url` names all of them, for the clients of others; `storeUrl` is where Baton keeps its own, under a prefix.
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

/** Removed when this process ends. `BENCH_FOLDER` says on which disk. */
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
  // What it writes is shown only if it ends too early.
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
