import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Journal, machineMs } from '../journal.ts'
import type { ClientConfig } from './client.ts'
import { Link } from './link.ts'
import type { Processes, Started } from './processes.ts'
import type { ServerProcess } from './server-process.ts'

const PROGRAM = fileURLToPath(new URL('./client.js', import.meta.url))

export interface SlotOptions {
  readonly index: number
  readonly folder: string
  readonly servers: readonly ServerProcess[]
  /** Where the harness writes down what it does to its clients. */
  readonly journal: Journal
  readonly config: Pick<ClientConfig, 'storage' | 'seed' | 'tasks' | 'resources' | 'ttlMs' | 'thinkMs'>
}

/** The place of one client: a node id, its ways to the servers, and one process after the other. */
export class ClientSlot {
  readonly node: string
  readonly links: readonly Link[]
  readonly journals: string[] = []
  /** Processes that ended although nobody wanted them to. */
  readonly crashes: string[] = []
  readonly #processes: Processes
  readonly #options: SlotOptions
  #urls: readonly string[] = []
  #started: Started | undefined
  #name = ''
  #isPaused = false

  constructor(processes: Processes, options: SlotOptions) {
    this.#processes = processes
    this.#options = options
    this.node = `node-${options.index}`
    this.links = options.servers.map((server) => new Link(() => server.port))
  }

  get isRunning(): boolean {
    return this.#started !== undefined && !this.#isPaused
  }

  async open(): Promise<void> {
    this.#urls = await Promise.all(this.links.map((link) => link.listen()))
    this.start()
  }

  start(): void {
    const { index, folder, config } = this.#options
    const life = this.journals.length
    const name = `${this.node}.${life}`
    const journal = join(folder, `${name}.jsonl`)
    const seed = config.seed * 100_003 + index * 997 + life
    const full: ClientConfig = { ...config, name, node: this.node, urls: this.#urls, journal, seed }
    const started = this.#processes.start([PROGRAM, JSON.stringify(full)])
    this.#started = started
    this.#name = name
    this.journals.push(journal)
    void started.ended.then((how) => {
      if (this.#started !== started) return
      this.#started = undefined
      if (how !== 0) this.crashes.push(`${name} ended with ${how}: ${started.complaint()}`)
    })
  }

  pause(): void {
    this.#note('paused')
    this.#isPaused = true
    this.#started?.signal('SIGSTOP')
  }

  /** It says itself that it runs again. */
  resume(): void {
    this.#isPaused = false
    this.#started?.signal('SIGCONT')
  }

  async kill(): Promise<void> {
    const started = this.#started
    if (!started) return
    this.#note('paused')
    this.#started = undefined
    started.signal('SIGKILL')
    await started.ended
    this.#note('crashed')
  }

  /** Lets it finish what it has begun; resolves when it has ended. */
  async finish(): Promise<void> {
    const started = this.#started
    started?.child.stdin?.end()
    await started?.ended
  }

  close(): void {
    for (const link of this.links) link.close()
  }

  #note(what: 'paused' | 'crashed'): void {
    this.#options.journal.write({ kind: 'client', nowMs: machineMs(), client: this.#name, what })
  }
}
