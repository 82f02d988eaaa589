import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Processes } from '@baton-lock/test-support/processes'
import { rowOf } from 'baton-lock/store-table'
import { Journal } from '../history/journal.ts'
import { Attacker } from './attacker.ts'
import { ClientSlot, nodeName, type SlotOptions } from './client-slot.ts'
import type { Database } from './database.ts'
import type { Inflictions } from './inflictions.ts'
import { sleep } from './link.ts'
import { ObserverSlot } from './observer-slot.ts'
import { openDatabase } from './open-database.ts'
import { soakConfig, soakPolicy } from './policy.ts'
import { ServerProcess } from './server-process.ts'
import { Storage } from './storage.ts'
import { serverWatch, storeWatch, type Watch } from './watch.ts'

export interface StageOptions {
  readonly clients: number
  readonly servers: number
  /**
   * Empty, or histories do not begin at the beginning. `file:` alone is a directory of the run's own, `mysql:` alone a
   * MariaDB of the run's own, `etcd:` alone an etcd of three members.
   */
  readonly store: string
  /** No servers: every client opens the store itself. */
  readonly library: boolean
  readonly seed: number
  readonly checkFences: boolean
  /** The run's own database loses what it has just committed, when it is killed. */
  readonly isDatabaseForgetful: boolean
  readonly ttlMs: number
  /** Two observers listen to everything beside the clients. */
  readonly observe: boolean
}

const TASKS = 3
const RESOURCES = 5
/** Beside these, a work now and then takes most of a lease. */
const WORK_MS = [0, 1, 5, 20, 20, 50, 100, 200]
/** All clients together: so many calls a second that one machine bears them and still runs its clocks. */
const CALLS_A_SECOND = 250
/** A database syncs its log for every step. */
const DATABASE_CALLS_A_SECOND = 100
const STARTING_MS = 100
const OBSERVERS = 2

/** All that takes part in a run, in one folder: the database, the servers, the clients, and what they write to. */
export class Stage {
  readonly folder = mkdtempSync(join(tmpdir(), 'baton-soak-'))
  readonly storage: Storage
  readonly #options: StageOptions
  readonly #processes = new Processes()
  readonly #journalPath = join(this.folder, 'harness.jsonl')
  readonly #journal = new Journal(this.#journalPath)
  #database: Database | undefined
  #servers: readonly ServerProcess[] = []
  #clients: readonly ClientSlot[] = []
  #observers: readonly ObserverSlot[] = []

  constructor(options: StageOptions) {
    this.#options = options
    this.storage = new Storage({ check: options.checkFences })
  }

  get database(): Database | undefined {
    return this.#database
  }

  get servers(): readonly ServerProcess[] {
    return this.#servers
  }

  get clients(): readonly ClientSlot[] {
    return this.#clients
  }

  get observers(): readonly ObserverSlot[] {
    return this.#observers
  }

  /** Where everybody has written what happened. */
  get journals(): { readonly servers: readonly string[]; readonly others: readonly string[] } {
    const clients = this.#clients.flatMap(({ journals }) => journals)
    const observers = this.#observers.map(({ journal }) => journal)
    const others = [this.#journalPath, ...clients, ...observers]
    return { servers: this.#servers.map(({ journal }) => journal), others }
  }

  async open(): Promise<void> {
    const { store, servers, clients, library, isDatabaseForgetful: isForgetful } = this.#options
    const opening = library ? clients + OBSERVERS : 0
    if (rowOf(store).isShared) {
      const processes = servers + opening
      this.#database = await openDatabase({ store, folder: this.folder, processes, isForgetful })
    }
    await this.#startServers()
    await this.#startObservers()
    await this.#startClients()
  }

  /** Somebody who attacks the first server. */
  attacker(inflictions: Inflictions): Attacker {
    return new Attacker({
      processes: this.#processes,
      inflictions,
      url: () => `http://127.0.0.1:${this.#servers[0]!.port}`,
    })
  }

  watch(): Watch | Promise<Watch> {
    const [server] = this.#servers
    if (server) return serverWatch(server)
    return storeWatch({ ...this.#library(), journal: join(this.folder, 'watch.jsonl') })
  }

  async close(): Promise<void> {
    this.#processes.killAll()
    this.storage.close()
    for (const each of [...this.#clients, ...this.#observers]) each.close()
    this.#journal.close()
    await this.#database?.stop()
  }

  async #startServers(): Promise<void> {
    const { store: url, servers } = this.#options
    const store = this.#database?.url ?? (url === 'file:' ? `file:${join(this.folder, 'store')}` : url)
    const config = join(this.folder, 'config.toml')
    writeFileSync(config, soakConfig)
    this.#servers = Array.from({ length: servers }, (_, index) => {
      const name = `server-${index}`
      return new ServerProcess(this.#processes, { name, store, folder: this.folder, config })
    })
    // All at once: whoever is the first makes the tables, and says what the policy is.
    await Promise.all(this.#servers.map((server) => server.start()))
  }

  /** Each at another server where there are several. */
  async #startObservers(): Promise<void> {
    const { observe, library } = this.#options
    this.#observers = Array.from({ length: observe ? OBSERVERS : 0 }, (_, index) => {
      const targets = library ? this.#database!.targets : [this.#servers[index % this.#servers.length]!]
      const options = { index, folder: this.folder, targets, ...(library && { library: this.#library() }) }
      return new ObserverSlot(this.#processes, options)
    })
    for (const observer of this.#observers) await observer.open()
  }

  async #startClients(): Promise<void> {
    const { clients, seed, ttlMs, library } = this.#options
    const callsASecond = this.#database ? DATABASE_CALLS_A_SECOND : CALLS_A_SECOND
    const thinkMs = (clients * TASKS * 1_000) / callsASecond
    const common: Omit<SlotOptions, 'index'> = {
      folder: this.folder,
      targets: library ? this.#database!.targets : this.#servers,
      journal: this.#journal,
      config: {
        ...{ seed, ttlMs, thinkMs, tasks: TASKS },
        choices: {
          resources: RESOURCES,
          nodes: Array.from({ length: clients }, (_, index) => nodeName(index)),
          workMs: [...WORK_MS, ...WORK_MS, ...WORK_MS, ttlMs * 0.7],
          revisions: 20,
          revisionRate: 0.7,
          referenceRate: 0.1,
        },
        storage: await this.storage.listen(),
        ...(library && { library: this.#library() }),
      },
    }
    this.#clients = Array.from({ length: clients }, (_, index) => new ClientSlot(this.#processes, { index, ...common }))
    for (const client of this.#clients) {
      await client.open()
      await sleep(STARTING_MS)
    }
  }

  #library() {
    return { store: this.#database!.url, policy: soakPolicy }
  }
}
