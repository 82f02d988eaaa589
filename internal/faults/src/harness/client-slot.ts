import { join } from 'node:path'
import type { Processes, Started } from '@baton-lock/test-support/processes'
import { type Journal, machineMs } from '../history/journal.ts'
import { PROGRAMS } from '../programs.ts'
import type { ClientConfig } from './client.ts'
import { byLinks, Link, type Target } from './link.ts'

export interface SlotOptions {
  readonly index: number
  readonly folder: string
  /** What it has ways to: the servers, or the database where it opens the store itself. */
  readonly targets: readonly Target[]
  /** Where the harness writes down what it does to its clients. */
  readonly journal: Journal
  readonly config: Pick<ClientConfig, 'storage' | 'seed' | 'tasks' | 'choices' | 'ttlMs' | 'thinkMs' | 'library'>
}

/** The place of one client: a node id, its ways to what it talks to, and one process after the other. */
export class ClientSlot {
  readonly node: string
  readonly links: readonly Link[]
  readonly journals: string[] = []
  /** Processes that ended although nobody wanted them to. */
  readonly crashes: string[] = []
  readonly #processes: Processes
  readonly #options: SlotOptions
  #ports: readonly number[] = []
  #started: Started | undefined
  #name = ''
  #isPaused = false

  constructor(processes: Processes, options: SlotOptions) {
    this.#processes = processes
    this.#options = options
    this.node = nodeName(options.index)
    this.links = options.targets.map((target) => new Link(target))
  }

  get isRunning(): boolean {
    return this.#started !== undefined && !this.#isPaused
  }

  async open(): Promise<void> {
    this.#ports = await Promise.all(this.links.map((link) => link.listen()))
    this.start()
  }

  start(): void {
    const { index, folder, config } = this.#options
    const life = this.journals.length
    const name = `${this.node}.${life}`
    const journal = join(folder, `${name}.jsonl`)
    const seed = config.seed * 100_003 + index * 997 + life
    const urls = this.#ports.map((port) => `http://127.0.0.1:${port}`)
    const full: ClientConfig = { ...config, ...this.#library(), name, node: this.node, urls, journal, seed }
    const started = this.#processes.start(process.execPath, [PROGRAMS.soakClient, JSON.stringify(full)], {
      stdin: 'pipe',
    })
    this.#started = started
    this.#name = name
    this.journals.push(journal)
    void started.exited.then((exit) => {
      if (this.#started !== started) return
      this.#started = undefined
      if (exit !== 0) this.crashes.push(`${name} ended with ${exit}: ${started.complaint()}`)
    })
  }

  pause(): void {
    this.#note('paused')
    this.#isPaused = true
    this.#started?.kill('SIGSTOP')
  }

  /** It says itself that it runs again. */
  resume(): void {
    this.#isPaused = false
    this.#started?.kill('SIGCONT')
  }

  async kill(): Promise<void> {
    const started = this.#started
    if (!started) return
    this.#note('paused')
    this.#started = undefined
    await started.end()
    this.#note('crashed')
  }

  /** Lets it finish what it has begun; resolves when it has ended. */
  async finish(): Promise<void> {
    const started = this.#started
    started?.endInput()
    await started?.exited
  }

  close(): void {
    for (const link of this.links) link.close()
  }

  /** The store by its own ways to it. */
  #library(): Pick<ClientConfig, 'library'> {
    const { library } = this.#options.config
    return library ? { library: { ...library, store: byLinks(library.store, this.#ports) } } : {}
  }

  #note(what: 'paused' | 'crashed'): void {
    this.#options.journal.write({ kind: 'client', nowMs: machineMs(), client: this.#name, what })
  }
}

export function nodeName(index: number): string {
  return `node-${index}`
}
