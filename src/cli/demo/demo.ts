import { setMaxListeners } from 'node:events'
import type { Baton } from '../../client/api.ts'
import { connect } from '../../client/index.ts'
import type { CliContext } from '../context.ts'
import { EXIT } from '../exit.ts'
import { exitOfSignal, hearing, type StopSignal } from '../interrupt.ts'
import { paintFor } from '../print/paint.ts'
import { Board } from './board.ts'
import { demoPlan, orderOf, type Plan } from './plan.ts'
import { type NodeProcess, startNodeProcess, startServerProcess } from './processes.ts'
import { pullAll, type Report } from './pull.ts'
import { type Fetch, type Registry, startRegistry } from './registry.ts'
import { openScreen, type Screen } from './screen.ts'
import { summarise } from './summary.ts'

interface DemoOptions {
  readonly fast: boolean
}

/** A demo that takes longer than this has found a bug. */
const LIMIT_MS = 60_000
/** How far into a fetch the victim is killed. */
const KILL_AT = 0.45

/** A real server, real clients, a real kill; only the registry is pretended. Resolves with the exit code. */
export async function runDemo({ fast }: DemoOptions, context: CliContext): Promise<number> {
  const plan = demoPlan({ fast })
  const stop = new AbortController()
  // Every pull of every node listens to it.
  setMaxListeners(0, stop.signal)
  let stopCode: number | undefined
  const onStop = (signal: StopSignal) => {
    stopCode ??= exitOfSignal(signal)
    stop.abort()
  }
  const late = setTimeout(() => stop.abort(), LIMIT_MS)
  const cast: (() => Promise<void>)[] = []
  const whole = async () => {
    try {
      return await perform({ plan, fast, context, signal: stop.signal, cast })
    } finally {
      clearTimeout(late)
      for (const end of cast.reverse()) await end()
    }
  }
  const ok = await hearing(onStop, whole)
  return stopCode ?? (ok ? EXIT.ok : EXIT.failed)
}

interface Performance {
  readonly plan: Plan
  readonly fast: boolean
  readonly context: CliContext
  readonly signal: AbortSignal
  /** How to end everything that was started, the last first. */
  readonly cast: (() => Promise<void>)[]
}

async function perform({ plan, fast, context, signal, cast }: Performance): Promise<boolean> {
  const { stdout, env, entry } = context
  const paint = paintFor(stdout, env)
  const crash = new Crash(plan)
  const registry = await startRegistry(plan.layers, (fetch) => crash.watch(fetch))
  cast.push(() => registry.close())
  const server = await startServerProcess(entry)
  cast.push(() => server.stop())
  let board: Board | undefined
  let screen: Screen | undefined
  const report = (report: Report) => board?.report(report)
  const args = [
    '--as-node',
    plan.victim,
    '--server',
    server.url,
    '--registry',
    registry.url,
    ...(fast ? ['--fast'] : []),
  ]
  const victim = await startNodeProcess(entry, args, report)
  cast.push(() => victim.kill())
  const others = plan.nodes.filter((node) => node !== plan.victim)
  const batons = await Promise.all(
    others.map((node) => connect(server.url, { node, ttlMs: plan.ttlMs, onNotice: () => {} })),
  )
  for (const baton of batons) cast.push(() => baton.close())

  stdout.write(
    `\n  ${paint('bold', 'baton demo')}: ${others.length} nodes here and ${plan.victim} (pid ${victim.pid}) `,
  )
  stdout.write(
    `pull the same ${plan.layers.length} layers\n  through a server at ${server.url} (pid ${server.pid})\n\n`,
  )
  board = new Board(plan, (line) => screen?.line(line))
  const present = board
  screen = openScreen(stdout, () => ({ board: present, fetches: () => registry.fetches, paint }), paint)
  try {
    await play({ plan, board, victim, batons, registry, crash, signal })
  } finally {
    screen.end()
  }
  if (signal.aborted) return false
  const summary = summarise(board, registry.fetches, paint)
  stdout.write(`${summary.lines.join('\n')}\n\n`)
  return summary.ok
}

interface Play {
  readonly plan: Plan
  readonly board: Board
  readonly victim: NodeProcess
  readonly batons: readonly Baton[]
  readonly registry: Registry
  readonly crash: Crash
  readonly signal: AbortSignal
}

async function play({ plan, board, victim, batons, registry, crash, signal }: Play): Promise<void> {
  const killed = crash.due.then(async () => {
    if (signal.aborted) return
    await victim.kill()
    board.crash()
  })
  victim.go()
  // The victim is first, so that it certainly has something to lose.
  await Promise.race([crash.begun, aborted(signal)])
  const report = (report: Report) => board.report(report)
  const pulls = batons.map((baton) =>
    pullAll(orderOf(plan, baton.node), {
      baton,
      registryUrl: registry.url,
      parallel: plan.parallel,
      report,
      signal,
    }),
  )
  await Promise.all([Promise.race([killed, aborted(signal)]), ...pulls])
}

/** Knows when the victim has begun, and when it is in the middle of a pull. */
class Crash {
  readonly begun: Promise<void>
  readonly due: Promise<void>
  readonly #victim: string
  #begin = () => {}
  #strike = () => {}

  constructor({ victim }: Plan) {
    this.#victim = victim
    this.begun = new Promise((resolve) => {
      this.#begin = resolve
    })
    this.due = new Promise((resolve) => {
      this.#strike = resolve
    })
  }

  watch({ node, share }: Fetch): void {
    if (node !== this.#victim) return
    this.#begin()
    if (share >= KILL_AT) this.#strike()
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
