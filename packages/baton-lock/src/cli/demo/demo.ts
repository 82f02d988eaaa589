import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { formatDuration } from '@baton-lock/protocol'
import type { CliContext } from '../context.ts'
import { EXIT, Exit } from '../exit.ts'
import { exitOfSignal, hearing } from '../interrupt.ts'
import { columns } from '../print/layout.ts'
import { say } from '../print/say.ts'
import type { DemoNodeOptions, Report } from './node.ts'
import { type Fetch, startRegistry } from './registry.ts'

const LAYERS = [1, 2, 3, 4, 5, 6]
/** node-a and node-c begin with the same layer, so node-a waits while node-c fetches it. */
const ORDERS = { 'node-a': LAYERS, 'node-b': [4, 5, 6, 1, 2, 3], 'node-c': LAYERS }
const LIVING = ['node-a', 'node-b']
const VICTIM = 'node-c'
const FETCH_MS = 500
const TTL_MS = 2_000
/** The demo takes about 7 s. */
const LIMIT_MS = 60_000
const POLL_MS = 10

interface Entry {
  readonly node: string
  readonly atMs: number
  readonly report: Report | { readonly state: 'killed' }
}

/** A real server, three real clients and a real SIGKILL; only the registry is a stand-in. Resolves with the exit code. */
export async function runDemo(context: CliContext): Promise<number> {
  const stop = new AbortController()
  const children: ChildProcess[] = []
  const registry = await startRegistry(FETCH_MS)
  const late = setTimeout(() => stop.abort(new Exit(EXIT.failed, `the demo took more than ${LIMIT_MS} ms`)), LIMIT_MS)
  const onStop = (signal: NodeJS.Signals) => stop.abort(new Exit(exitOfSignal(signal)))
  try {
    return await hearing(onStop, async () => {
      const entries = await pullEverywhere(context, registry.url, children, stop)
      const { lines, isRight } = summarise(entries, registry.fetches)
      say(context.stdout, '', ...lines)
      return isRight ? EXIT.ok : EXIT.failed
    })
  } finally {
    clearTimeout(late)
    await Promise.all(children.map(kill))
    registry.close()
  }
}

async function pullEverywhere(
  { entry, stdout }: CliContext,
  registry: string,
  children: ChildProcess[],
  stop: AbortController,
): Promise<Entry[]> {
  let startMs = performance.now()
  const entries: Entry[] = []
  const add = (node: string, report: Entry['report']) => {
    const atMs = performance.now() - startMs
    entries.push({ node, atMs, report })
    if (report.state !== 'ready') say(stdout, `${(atMs / 1_000).toFixed(1).padStart(5)}s  ${node}  ${textOf(report)}`)
  }
  const start = (name: string, args: readonly string[], stdio: readonly ('pipe' | 'ipc')[]) => {
    const child = spawn(process.execPath, [entry, ...args], {
      stdio: ['ignore', 'pipe', 'inherit', ...stdio],
      env: ownEnvironment(),
    })
    children.push(child)
    child.once('exit', (code) => {
      if (code !== EXIT.ok && !child.killed) stop.abort(new Exit(EXIT.failed, `${name} of the demo ended with ${code}`))
    })
    return child
  }
  const until = async <Value>(look: () => Value | undefined | false): Promise<Value> => {
    for (;;) {
      stop.signal.throwIfAborted()
      const seen = look()
      if (seen !== undefined && seen !== false) return seen
      await delay(POLL_MS)
    }
  }
  const reported = (node: string, state: Report['state']) =>
    until(() => entries.some((each) => each.node === node && each.report.state === state))

  const server = start('the server', ['serve', '--port', '0', '--store', 'memory:', '--log-level', 'warn'], [])
  let printed = ''
  server.stdout!.on('data', (text) => {
    printed += text
  })
  const url = await until(() => /^baton listening on (\S+)\n/.exec(printed)?.[1])
  say(stdout, `${Object.keys(ORDERS).join(', ')} pull the same ${LAYERS.length} layers through a server at ${url}.`, '')
  const nodes = new Map<string, ChildProcess>()
  for (const [node, layers] of Object.entries(ORDERS)) {
    const options: DemoNodeOptions = { node, server: url, registry, ttlMs: TTL_MS, layers }
    const child = start(node, ['demo', '--as-node', JSON.stringify(options)], ['ipc'])
    child.on('message', (report: Report) => add(node, report))
    nodes.set(node, child)
  }
  for (const node of nodes.keys()) await reported(node, 'ready')
  // The victim begins alone, so that it holds the first layer when the others ask for it.
  startMs = performance.now()
  nodes.get(VICTIM)!.send('begin')
  await reported(VICTIM, 'fetches')
  for (const node of LIVING) nodes.get(node)!.send('begin')
  await reported('node-a', 'waits')
  await kill(nodes.get(VICTIM)!)
  add(VICTIM, { state: 'killed' })
  for (const node of LIVING) await until(() => nodes.get(node)!.exitCode === EXIT.ok)
  return entries
}

function textOf(report: Exclude<Entry['report'], { state: 'ready' }>): string {
  switch (report.state) {
    case 'killed':
      return 'is killed (SIGKILL)'
    case 'waits':
      return `waits for layer ${report.layer}`
    case 'fetches':
      if (report.after === undefined) return `fetches layer ${report.layer} (fence ${report.fence})`
      return `takes over layer ${report.layer}: ${report.after} (fence ${report.fence})`
    case 'fetched':
      return `has fetched layer ${report.layer}`
    case 'skipped':
      return `skips layer ${report.layer}${report.by === undefined ? '' : `: ${report.by} has fetched it`}`
  }
}

/** Who did the work, who waited, who took over; and whether each layer was fetched once and reached every living node. */
export function summarise(entries: readonly Entry[], fetches: readonly Fetch[]) {
  const nodesWith = (layer: number, ...states: Report['state'][]) =>
    entries
      .filter(({ report }) => 'layer' in report && report.layer === layer && states.includes(report.state))
      .map(({ node }) => node)
  const rows = LAYERS.map((layer) => {
    const fetchers = fetches.filter((each) => each.layer === layer && each.state === 'complete').map(({ node }) => node)
    const reached = nodesWith(layer, 'fetched', 'skipped')
    return {
      isRight: fetchers.length === 1 && LIVING.every((node) => reached.includes(node)),
      cells: [String(layer), ...[fetchers, nodesWith(layer, 'waits'), nodesWith(layer, 'skipped')].map(distinct)],
    }
  })
  const wrong = rows.filter((row) => !row.isRight).length
  const takeOver = takeOverText(entries)
  const lines = [
    ...columns([['LAYER', 'FETCHED BY', 'WAITED', 'SKIPPED'], ...rows.map(({ cells }) => cells)]),
    '',
    takeOver ?? `This is a bug: nobody took over what ${VICTIM} had begun.`,
    wrong === 0
      ? `Each of the ${LAYERS.length} layers was fetched exactly once.`
      : `This is a bug: ${wrong} layers were not fetched exactly once, or did not reach every node.`,
  ]
  return { lines, isRight: wrong === 0 && takeOver !== undefined }
}

function distinct(nodes: readonly string[]): string {
  return [...new Set(nodes)].join(', ')
}

function takeOverText(entries: readonly Entry[]): string | undefined {
  const killed = entries.find(({ report }) => report.state === 'killed')
  for (const { node, atMs, report } of entries) {
    if (!killed || report.state !== 'fetches' || !report.after?.startsWith(`${VICTIM} `)) continue
    const later = `${formatDuration(atMs - killed.atMs)} later (its lease: ${formatDuration(TTL_MS)})`
    return `${VICTIM} was killed while it fetched layer ${report.layer}; ${node} took over ${later}.`
  }
  return undefined
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

/** The settings of a user's own server and nodes must not change the demo. */
function ownEnvironment(): NodeJS.ProcessEnv {
  const isTheirs = (name: string) => /^(BATON_.*|PORT|ALLOW_MULTI_NODE_DOWNLOAD)$/.test(name)
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isTheirs(name)))
}
