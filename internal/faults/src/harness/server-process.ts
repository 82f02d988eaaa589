import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { startServe, urlOf } from '@baton-lock/test-support/baton-server'
import type { Processes, Started } from '@baton-lock/test-support/processes'
import { PROGRAMS } from '../programs.ts'

const START_MS = 30_000
/** What `baton serve` ends with where its store does not answer. */
const EXIT_UNREACHABLE = 69

/** `baton serve`, from the build that this file is a part of, with its history in a file. */
export class ServerProcess {
  readonly name: string
  readonly journal: string
  /** All that it writes. */
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
    const command = [process.execPath, '--expose-gc', PROGRAMS.recordedServer]
    const env = { BATON_HISTORY: this.journal }
    const started = startServe(command, this.#flags, { processes: this.#processes, env, log: this.log })
    this.#started = started
    this.#lastExit = undefined
    void started.exited.then((exit) => {
      this.#lastExit = exit
      if (this.#started !== started || !this.#isWanted) return
      this.crash = `${this.name} ended with ${exit}: ${started.complaint()}`
    })
    this.#port = Number(new URL(await urlOf(started, START_MS)).port)
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
    this.#started?.kill(signal)
  }

  async kill(): Promise<void> {
    this.#isWanted = false
    await this.#started?.end()
  }

  /** Resolves with its exit code. */
  async stop(): Promise<number | NodeJS.Signals | undefined> {
    this.#isWanted = false
    this.#started?.kill('SIGTERM')
    return this.#started?.exited
  }
}
