import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, closeSync, existsSync, openSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { atExit } from './at-exit.ts'

export interface StartOptions {
  /** Beside the environment of this process, without the variables that configure Baton, etcd or vitest. */
  readonly env?: NodeJS.ProcessEnv
  readonly cwd?: string
  /** Default: `ignore`, an empty stdin. */
  readonly stdin?: 'ignore' | 'pipe'
  /** Receives the complete lines of stdout, which are not kept then. */
  readonly onLine?: (line: string) => void
  /** A file to which both streams are appended instead: no pipe fills up while this process is busy. */
  readonly log?: string
  /** The leader of a process group, which receives its signals. */
  readonly isGroup?: boolean
}

export interface End {
  /** `null` if a signal ended it. */
  readonly code: number | null
  /** Empty if they went to a log. */
  readonly stdout: string
  readonly stderr: string
}

interface RunOptions extends Pick<StartOptions, 'env' | 'cwd'> {
  readonly timeoutMs: number
  readonly signal?: AbortSignal
}

const COMPLAINT_CHARS = 8_000
const LINE_MS = 30_000
const TERM_MS = 10_000
const LOOK_MS = 10
/** After its exit, its children may keep the pipes open: then its own last output is taken to have arrived. */
const DRAIN_MS = 500
/** The exit code of a shell for a program that does not exist. */
const NOT_FOUND = 127
const SETPRIV = '/usr/bin/setpriv'

/** Starts a program, which is killed when this process ends. */
export function startProcess(program: string, args: readonly string[], options: StartOptions = {}): Started {
  return new Started(program, args, options)
}

/** Resolves with what a program prints. Throws if it fails; then it has ended, killed if it took too long. */
export async function run(program: string, args: readonly string[], options: RunOptions): Promise<Buffer> {
  const { timeoutMs, signal, ...rest } = options
  const command = `${program} ${args.join(' ')}`
  if (signal?.aborted) throw new Error(`${command}: aborted`)
  const started = startProcess(program, args, rest)
  let why = ''
  const end = (reason: string) => {
    why = reason
    started.kill('SIGKILL')
  }
  const timer = setTimeout(() => end(`not done after ${timeoutMs} ms, killed`), timeoutMs)
  const onAbort = () => end('aborted, killed')
  signal?.addEventListener('abort', onAbort)
  try {
    const exit = await started.exited
    await started.closed
    if (exit !== 0) throw new Error(`${command}: ${why || `exit code ${exit}`}\n${started.complaint()}`)
    return started.output()
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
  }
}

/** Processes that are ended together. */
export class Processes {
  readonly #running = new Set<Started>()

  start(program: string, args: readonly string[], options?: StartOptions): Started {
    const started = startProcess(program, args, options)
    this.#running.add(started)
    void started.exited.then(() => this.#running.delete(started))
    return started
  }

  killAll(): void {
    for (const started of this.#running) started.kill('SIGKILL')
  }
}

/** A process that was started here. */
export class Started {
  readonly pid: number
  /** Resolves with its exit code, or the signal that ended it. */
  readonly exited: Promise<number | NodeJS.Signals>
  /** Resolves when it has exited and its output has arrived. */
  readonly ended: Promise<End>
  /** Resolves when nobody has its pipes open any more. */
  readonly closed: Promise<unknown>
  readonly #name: string
  readonly #child: ChildProcess
  readonly #log: string | undefined
  readonly #logStart: number
  readonly #isGroup: boolean
  readonly #stdout: Buffer[] = []
  readonly #stderr: Buffer[] = []
  #exit: number | NodeJS.Signals | undefined

  constructor(program: string, args: readonly string[], options: StartOptions) {
    const { env, cwd, stdin = 'ignore', onLine, log, isGroup = false } = options
    this.#name = [program, ...args].join(' ')
    this.#log = log
    this.#logStart = log !== undefined && existsSync(log) ? statSync(log).size : 0
    this.#isGroup = isGroup
    const output = log === undefined ? 'pipe' : openSync(log, 'a')
    const stdio: SpawnOptions['stdio'] = [stdin, output, output]
    this.#child = spawn(...tied(program, args), {
      env: { ...cleanEnvironment(), ...env },
      cwd,
      stdio,
      detached: isGroup,
    })
    if (typeof output === 'number') closeSync(output)
    this.pid = this.#child.pid ?? 0
    // What it did not read before it ended is no failure.
    this.#child.stdin?.on('error', () => {})
    if (onLine) this.#child.stdout!.setEncoding('utf8').on('data', byLines(onLine))
    else this.#child.stdout?.on('data', (chunk) => this.#stdout.push(chunk))
    this.#child.stderr?.on('data', (chunk) => this.#stderr.push(chunk))
    const forget = atExit(() => this.kill('SIGKILL'))
    this.closed = once(this.#child, 'close').catch(() => {})
    this.exited = once(this.#child, 'exit').then(
      ([code, signal]) => signal ?? code,
      (error) => this.#notStarted(error),
    )
    void this.exited.then((exit) => {
      this.#exit = exit
      forget()
    })
    this.ended = this.exited.then((exit) => this.#drained(exit))
  }

  get isRunning(): boolean {
    return this.#exit === undefined
  }

  /** All that it has written to stdout. */
  output(): Buffer {
    return this.#log === undefined ? Buffer.concat(this.#stdout) : this.#logged()
  }

  /** With a log, both streams. */
  stdout(): string {
    return this.output().toString()
  }

  /** With a log, both streams. */
  stderr(): string {
    return (this.#log === undefined ? Buffer.concat(this.#stderr) : this.#logged()).toString()
  }

  /** The end of stderr. */
  complaint(): string {
    return this.stderr().slice(-COMPLAINT_CHARS)
  }

  /** Resolves with the first match on stdout. Throws if it ends before, or takes too long. */
  async says(pattern: RegExp, withinMs = LINE_MS): Promise<RegExpExecArray> {
    const endMs = Date.now() + withinMs
    for (;;) {
      const isOver = !this.isRunning
      if (isOver) await this.ended
      const found = pattern.exec(this.stdout())
      if (found) return found
      if (isOver) throw new Error(`${this.#name} ended with ${this.#exit}: ${this.complaint()}`)
      if (Date.now() > endMs)
        throw new Error(`${this.#name} did not say ${pattern} within ${withinMs} ms: ${this.complaint()}`)
      await sleep(LOOK_MS)
    }
  }

  write(text: string): void {
    this.#child.stdin!.write(text)
  }

  endInput(): void {
    this.#child.stdin!.end()
  }

  kill(signal: NodeJS.Signals): void {
    if (!this.#isGroup) this.#child.kill(signal)
    else if (this.isRunning && this.pid > 0) process.kill(-this.pid, signal)
  }

  /** Ends it, by default as a crash would, and resolves when it has ended. One that ignores SIGTERM is killed. */
  async end(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    const timer = setTimeout(() => this.kill('SIGKILL'), TERM_MS)
    this.kill(signal)
    await this.exited
    clearTimeout(timer)
  }

  /** Nobody reads what it writes any more. */
  closeOutput(): void {
    this.#child.stdout?.destroy()
    this.#child.stderr?.destroy()
  }

  pause(): Promise<void> {
    return this.isRunning ? pauseProcess(this.pid) : Promise.resolve()
  }

  resume(): void {
    this.kill('SIGCONT')
  }

  #logged(): Buffer {
    return readFileSync(this.#log!).subarray(this.#logStart)
  }

  #notStarted(error: Error): number {
    if (this.#log === undefined) this.#stderr.push(Buffer.from(`${error}\n`))
    else appendFileSync(this.#log, `${error}\n`)
    return NOT_FOUND
  }

  async #drained(exit: number | NodeJS.Signals): Promise<End> {
    const late = new AbortController()
    await Promise.race([this.closed, sleep(DRAIN_MS, undefined, { signal: late.signal }).catch(() => {})])
    late.abort()
    const code = typeof exit === 'number' ? exit : null
    return this.#log === undefined
      ? { code, stdout: this.stdout(), stderr: this.stderr() }
      : { code, stdout: '', stderr: '' }
  }
}

function byLines(onLine: (line: string) => void): (text: string) => void {
  let begun = ''
  return (text) => {
    const lines = (begun + text).split('\n')
    begun = lines.pop()!
    for (const line of lines) onLine(line)
  }
}

/** Sends SIGSTOP. The threads stop one after another: resolves when all of them have. */
export async function pauseProcess(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP')
  const threads = `/proc/${pid}/task`
  const isStopped = (thread: string) => /^State:\tT/m.test(readFileSync(`${threads}/${thread}/status`, 'utf8'))
  for (let looks = 0; !readdirSync(threads).every(isStopped) && looks < 500; looks++) await sleep(2)
}

/** It dies with the process that started it, however that ends. */
function tied(program: string, args: readonly string[]): [program: string, args: string[]] {
  return existsSync(SETPRIV) ? [SETPRIV, ['--pdeathsig', 'KILL', program, ...args]] : [program, [...args]]
}

/** Without what the caller's shell says to Baton or to etcd, and what vitest says to its workers. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const isOurs = (name: string) => /^(BATON_|ETCD|VITEST|PORT$|ALLOW_MULTI_NODE_DOWNLOAD$)/.test(name)
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isOurs(name)))
}
