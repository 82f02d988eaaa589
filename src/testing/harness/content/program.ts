import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { atExit } from './at-exit.ts'

interface RunOptions {
  readonly timeoutMs: number
  /** Ends it early. */
  readonly signal?: AbortSignal
}

interface ServerOptions {
  /** Stdout and stderr are appended to this file: no pipe fills up while this process is busy elsewhere. */
  readonly log: string
}

const COMPLAINT_CHARS = 8_000
const TERM_MS = 10_000

/** What the program printed; throws with its stderr where it failed. Its time over, it is killed, and gone when this throws. */
export async function run(program: string, args: readonly string[], options: RunOptions): Promise<Buffer> {
  const { timeoutMs, signal } = options
  const said = `${program} ${args.join(' ')}`
  if (signal?.aborted) throw new Error(`${said}: aborted`)
  const child = spawn(...tied(program, args), { stdio: ['ignore', 'pipe', 'pipe'] })
  let why = ''
  const end = (reason: string) => {
    why = reason
    child.kill('SIGKILL')
  }
  const timer = setTimeout(() => end(`not done after ${timeoutMs} ms, killed`), timeoutMs)
  const onAbort = () => end('aborted, killed')
  signal?.addEventListener('abort', onAbort)
  try {
    const printed: Buffer[] = []
    let complaint = ''
    child.stdout.on('data', (chunk: Buffer) => printed.push(chunk))
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      complaint = (complaint + text).slice(-COMPLAINT_CHARS)
    })
    const [code] = await once(child, 'close')
    if (code !== 0) throw new Error(`${said}: ${why || `exit code ${code}`}\n${complaint}`)
    return Buffer.concat(printed)
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
  }
}

/** A server in a process of its own, ended by its pid. */
export class ServerProgram {
  readonly #child: ChildProcess
  readonly #log: string
  readonly #ended: Promise<unknown>
  readonly #forget: () => void

  constructor(program: string, args: readonly string[], { log }: ServerOptions) {
    const output = openSync(log, 'a')
    this.#log = log
    this.#child = spawn(...tied(program, args), { stdio: ['ignore', output, output] })
    closeSync(output)
    this.#forget = atExit(() => this.#child.kill('SIGKILL'))
    this.#ended = new Promise((resolve) => this.#child.once('exit', resolve).once('error', resolve))
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  get isRunning(): boolean {
    return this.#child.pid !== undefined && this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** The last of what it has written. */
  complaint(): string {
    return readFileSync(this.#log, 'utf8').slice(-COMPLAINT_CHARS)
  }

  /** As a crash would end it. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL')
  }

  /** As a service manager would end it: asked first, killed where it does not listen. */
  async terminate(): Promise<void> {
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), TERM_MS)
    await this.#end('SIGTERM')
    clearTimeout(timer)
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    if (this.isRunning) this.#child.kill(signal)
    await this.#ended
    this.#forget()
  }
}

/** It goes down with whoever started it, however that ends. */
function tied(program: string, args: readonly string[]): [program: string, args: string[]] {
  const setpriv = '/usr/bin/setpriv'
  return existsSync(setpriv) ? [setpriv, ['--pdeathsig', 'KILL', program, ...args]] : [program, [...args]]
}
