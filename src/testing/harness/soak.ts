import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Policy } from '../../core/index.ts'
import type { Violation } from '../check-history.ts'
import { Journal } from '../journal.ts'
import { seededRandom } from '../random.ts'
import { ClientSlot } from './client-slot.ts'
import { Faults } from './faults.ts'
import { sleep } from './link.ts'
import { Processes } from './processes.ts'
import { ServerProcess } from './server-process.ts'
import { Storage } from './storage.ts'
import { type Verdict, verdictOf } from './verdict.ts'

export interface SoakOptions {
  readonly lengthMs: number
  readonly clients: number
  readonly servers: number
  /** Empty, or histories do not begin at the beginning. `file:` alone is a directory of the run's own. */
  readonly store: string
  readonly seed: number
  readonly checkFences: boolean
  readonly killServers: boolean
  readonly ttlMs: number
  readonly onProgress?: (text: string) => void
}

const TASKS = 3
const RESOURCES = 5
/** All clients together: so many calls a second that one machine bears them and still runs its clocks. */
const CALLS_A_SECOND = 250
const FINISH_MS = 120_000
const QUIET_MS = 20_000
const STARTING_MS = 100

/** Attempts that are used up, retry delays, and claim times that are shorter than a lease: as many ways as there are. */
const CONFIG = `
[policy.namespaces.default]
claimMs = 1000
[policy.namespaces.default.operations.pull]
attempts = 3
[policy.namespaces.default.operations.update]
retryDelayMs = 200
`

/** Real processes, real faults; then everything heals, everybody has to come to an end, and the histories are checked. */
export async function soak(options: SoakOptions): Promise<Verdict> {
  const run = new SoakRun(options)
  try {
    return await run.run()
  } finally {
    run.close()
  }
}

class SoakRun {
  readonly #options: SoakOptions
  readonly #processes = new Processes()
  readonly #folder = mkdtempSync(join(tmpdir(), 'baton-soak-'))
  readonly #journalPath = join(this.#folder, 'harness.jsonl')
  readonly #journal = new Journal(this.#journalPath)
  readonly #storage: Storage
  readonly #servers: readonly ServerProcess[]
  #clients: readonly ClientSlot[] = []
  readonly #violations: Violation[] = []

  constructor(options: SoakOptions) {
    this.#options = options
    this.#storage = new Storage({ check: options.checkFences })
    const store = options.store === 'file:' ? `file:${join(this.#folder, 'store')}` : options.store
    const config = join(this.#folder, 'config.toml')
    writeFileSync(config, CONFIG)
    this.#servers = Array.from({ length: options.servers }, (_, index) => {
      const name = `server-${index}`
      const journal = join(this.#folder, `${name}.jsonl`)
      return new ServerProcess(this.#processes, { name, store, journal, config })
    })
  }

  async run(): Promise<Verdict> {
    const { lengthMs, seed } = this.#options
    for (const server of this.#servers) await server.start()
    const policy = await this.#policy()
    await this.#startClients()
    const faults = new Faults({
      ...this.#options,
      random: seededRandom(seed),
      clients: this.#clients,
      servers: this.#servers,
    })
    faults.start()
    await this.#pass(lengthMs)
    await faults.heal()
    await this.#finish()
    await this.#expectQuiet()
    await this.#stopServers()
    for (const failure of [...faults.failures, ...this.#clients.flatMap(({ crashes }) => crashes)])
      this.#violated(0, failure)
    for (const { key, fence, highest } of this.#storage.violations)
      this.#violated(2, `a write with fence ${fence} was accepted after one with ${highest}`, key)
    return verdictOf({
      folder: this.#folder,
      policy,
      violations: this.#violations,
      journals: {
        servers: this.#servers.map(({ journal }) => journal),
        others: [this.#journalPath, ...this.#clients.flatMap(({ journals }) => journals)],
      },
      faults: faults.counts,
      writes: { made: this.#storage.writes, refused: this.#storage.refused },
    })
  }

  close(): void {
    this.#processes.killAll()
    this.#storage.close()
    for (const client of this.#clients) client.close()
    this.#journal.close()
  }

  async #startClients(): Promise<void> {
    const { clients, seed, ttlMs } = this.#options
    const thinkMs = (clients * TASKS * 1_000) / CALLS_A_SECOND
    const storage = await this.#storage.listen()
    const config = { storage, seed, tasks: TASKS, resources: RESOURCES, ttlMs, thinkMs }
    const common = { folder: this.#folder, servers: this.#servers, journal: this.#journal, config }
    this.#clients = Array.from({ length: clients }, (_, index) => new ClientSlot(this.#processes, { index, ...common }))
    for (const client of this.#clients) {
      await client.open()
      await sleep(STARTING_MS)
    }
  }

  async #pass(lengthMs: number): Promise<void> {
    const endMs = Date.now() + lengthMs
    for (let leftMs = lengthMs; leftMs > 0; leftMs = endMs - Date.now()) {
      this.#options.onProgress?.(`${Math.ceil(leftMs / 1_000)} s to go, ${this.#storage.writes} writes`)
      const crash = this.#servers.find((server) => server.crash !== undefined)?.crash
      if (crash !== undefined) throw new Error(crash)
      await sleep(Math.min(leftMs, 1_000))
    }
  }

  /** Everybody finishes what it has begun. */
  async #finish(): Promise<void> {
    const pending = new Set(this.#clients)
    const all = this.#clients.map((client) => client.finish().then(() => pending.delete(client)))
    const late = setTimeout(() => {
      for (const { node } of pending)
        this.#violated(8, `after everything had healed, ${node} did not come to an end within ${FINISH_MS} ms`)
      for (const client of pending) void client.kill()
    }, FINISH_MS)
    while (pending.size > 0) {
      this.#options.onProgress?.(`healed; ${pending.size} clients to finish`)
      await Promise.race([sleep(500), ...all])
      if (pending.size > 0) await sleep(100)
    }
    clearTimeout(late)
  }

  /** Nobody is there any more: nothing may be held, and nobody may wait, once the dead have run out. */
  async #expectQuiet(): Promise<void> {
    const url = `${this.#servers[0]!.url}/v1/resources?active=true`
    const endMs = Date.now() + QUIET_MS
    for (;;) {
      const { resources } = (await (await fetch(url)).json()) as { resources: { resource: string }[] }
      if (resources.length === 0) break
      if (Date.now() > endMs) {
        for (const view of resources)
          this.#violated(8, `stuck after everybody had gone: ${JSON.stringify(view)}`, view.resource)
        break
      }
      await sleep(200)
    }
    // One more look at the heap, now that nobody is there.
    await sleep(6_000)
  }

  async #stopServers(): Promise<void> {
    for (const server of this.#servers) {
      const how = await server.stop()
      if (how !== 0) this.#violated(0, `${server.name} ended with ${how}`)
      if (server.crash !== undefined) this.#violated(0, server.crash)
    }
  }

  async #policy(): Promise<Policy> {
    const reply = await fetch(`${this.#servers[0]!.url}/v1/policy`)
    return ((await reply.json()) as { policy: Policy }).policy
  }

  #violated(invariant: number, what: string, resource = ''): void {
    this.#violations.push({ invariant, resource, what })
  }
}
