import { join } from 'node:path'
import type { Processes, Started } from '@baton-lock/test-support/processes'
import { PROGRAMS } from '../programs.ts'
import { byLinks, Link, type Target } from './link.ts'
import type { ObserverConfig } from './observer.ts'

/** Nobody works on it: what happens to it tells observers that the run is over. */
export const FAREWELL = 'farewell'

interface ObserverOptions {
  readonly index: number
  readonly folder: string
  /** What it listens at: a server, or the database where it opens the store itself. */
  readonly targets: readonly Target[]
  readonly library?: ObserverConfig['library']
}

/** An observer: its ways to what it listens at, and its process. */
export class ObserverSlot {
  readonly name: string
  readonly links: readonly Link[]
  readonly notes: string
  readonly journal: string
  /** Why it ended although nobody wanted it to. */
  crash: string | undefined
  readonly #processes: Processes
  readonly #library: ObserverConfig['library']
  #started: Started | undefined

  constructor(processes: Processes, { index, folder, targets, library }: ObserverOptions) {
    this.#processes = processes
    this.#library = library
    this.name = `observer-${index}`
    this.links = targets.map((target) => new Link(target))
    this.notes = join(folder, `${this.name}.notes.jsonl`)
    this.journal = join(folder, `${this.name}.jsonl`)
  }

  get isRunning(): boolean {
    return this.#started !== undefined
  }

  async open(): Promise<void> {
    const { name, notes, journal } = this
    const ports = await Promise.all(this.links.map((link) => link.listen()))
    const library = this.#library && { ...this.#library, store: byLinks(this.#library.store, ports) }
    const url = `http://127.0.0.1:${ports[0]}`
    const config: ObserverConfig = { name, url, notes, journal, farewell: FAREWELL, ...(library && { library }) }
    const started = this.#processes.start(process.execPath, [PROGRAMS.soakObserver, JSON.stringify(config)], {
      stdin: 'pipe',
    })
    this.#started = started
    void started.exited.then((exit) => {
      this.#started = undefined
      if (exit !== 0) this.crash = `${name} ended with ${exit}: ${started.complaint()}`
    })
  }

  /** Lets it go when it is next told of the farewell. */
  finish(): void {
    this.#started?.endInput()
  }

  close(): void {
    for (const link of this.links) link.close()
  }
}
