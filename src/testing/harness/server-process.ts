import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Processes, Started } from './processes.ts'

const MAIN = fileURLToPath(new URL('../../main.js', import.meta.url))
const START_MS = 30_000
/** What `baton serve` ends with where its store does not answer. */
const EXIT_UNREACHABLE = 69

/** `baton serve`, from the build that this file is a part of, with its history in a file. */
export class ServerProcess {
  readonly name: string
  readonly journal: string
  /** All that it writes to stderr. */
  readonly log: string
  readonly #processes: Processes
  readonly #flags: readonly string[]
  #started: Started | undefined
  #lastExit: number | NodeJS.Signals | undefined
  #isWanted = false
  #port = 0
  /** Why it ended although nobody wanted it to. */
  crash: string | undefined

  constructor(
    processes: Processes,
    { name, store, folder, config }: Readonly<Record<'name' | 'store' | 'folder' | 'config', string>>,
  ) {
    this.#processes = processes
    this.#flags = ['--store', store, '--config', config]
    this.name = name
    this.journal = join(folder, `${name}.jsonl`)
    this.log = join(folder, `${name}.log`)
  }

  get port(): number {
    return this.#port
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  /** Resolves when it listens. Started again, it listens elsewhere. */
  async start(): Promise<void> {
    const args = ['--expose-gc', MAIN, 'serve', '--port', '0', ...this.#flags]
    const started = this.#processes.start(args, { env: { BATON_HISTORY: this.journal }, log: this.log })
    this.#started = started
    this.#lastExit = undefined
    const ended = started.ended.then((how) => {
      const crash = `${this.name} ended with ${how}: ${started.complaint()}`
      this.#lastExit = how
      if (this.#started === started && this.#isWanted) this.crash = crash
      throw new Error(crash)
    })
    ended.catch(() => {})
    const late = new Promise<never>((_, reject) => {
      setTimeout(() => reject(new Error(`${this.name} did not listen within ${START_MS} ms`)), START_MS).unref()
    })
    this.#port = await Promise.race([portOf(started).catch(() => ended), ended, late])
    this.#isWanted = true
  }

  /** Whether it has ended because it could not reach its store, and said so. */
  get hasFoundNoStore(): boolean {
    return this.#lastExit === EXIT_UNREACHABLE
  }

  /** Errors that it did not expect. */
  defects(): readonly string[] {
    const lines = existsSync(this.log) ? readFileSync(this.log, 'utf8').split('\n') : []
    return lines.filter((line) => line.includes('internal error')).map((line) => `${this.name}: ${line}`)
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#started?.signal(signal)
  }

  async kill(): Promise<void> {
    this.#isWanted = false
    this.#started?.signal('SIGKILL')
    await this.#started?.ended
  }

  /** Resolves with its exit code. */
  async stop(): Promise<number | NodeJS.Signals | undefined> {
    this.#isWanted = false
    this.#started?.signal('SIGTERM')
    return this.#started?.ended
  }
}

async function portOf({ child }: Started): Promise<number> {
  for await (const line of createInterface({ input: child.stdout! })) {
    const port = /^baton listening on http:\S+:(\d+)$/.exec(line)?.[1]
    if (port !== undefined) return Number(port)
  }
  throw new Error('it said nothing of listening')
}
