import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync } from 'node:fs'

export interface Started {
  readonly pid: number
  readonly child: ChildProcess
  /** Resolves with its exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>
  /** What it has written to stderr, the last of it. */
  complaint(): string
  signal(signal: NodeJS.Signals): void
}

interface StartOptions {
  readonly env?: NodeJS.ProcessEnv
  /** A file for all that it writes to stderr. */
  readonly log?: string
}

const COMPLAINT_CHARS = 4_000

/** Everything that the harness has started, each ended by its own pid. */
export class Processes {
  readonly #running = new Set<Started>()

  constructor() {
    process.on('exit', () => this.killAll())
  }

  start(args: readonly string[], { env = {}, log }: StartOptions = {}): Started {
    const child = spawn(process.execPath, args, { env: { ...cleanEnvironment(), ...env }, stdio: 'pipe' })
    let complaint = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      complaint = (complaint + text).slice(-COMPLAINT_CHARS)
      if (log !== undefined) appendFileSync(log, text)
    })
    child.stdin.on('error', () => {})
    const ended = once(child, 'exit').then(([code, signal]) => {
      this.#running.delete(started)
      return signal ?? code
    })
    const started: Started = {
      pid: child.pid ?? 0,
      child,
      ended,
      complaint: () => complaint,
      signal: (signal) => void child.kill(signal),
    }
    this.#running.add(started)
    return started
  }

  killAll(): void {
    for (const { child } of this.#running) child.kill('SIGKILL')
  }
}

/** What the caller's shell says to Baton is not for these. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const ours = (name: string) => name.startsWith('BATON_') || name === 'PORT' || name === 'ALLOW_MULTI_NODE_DOWNLOAD'
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !ours(name)))
}
