import { seededRandom } from '@baton-lock/store/conformance/random'
import { wallAheadMs } from '../history/shared-history.ts'
import type { Violation } from '../history/violation.ts'
import { Faults } from './faults.ts'
import { Inflictions } from './inflictions.ts'
import { sleep } from './link.ts'
import { FAREWELL } from './observer-slot.ts'
import { Stage, type StageOptions } from './stage.ts'
import { type SharedSteps, type Verdict, verdictOf } from './verdict.ts'
import type { Watch } from './watch.ts'

interface SoakOptions extends StageOptions {
  readonly lengthMs: number
  readonly killServers: boolean
  /** Somebody attacks the first server meanwhile; then no lease may end late. */
  readonly attack?: boolean
  readonly onProgress?: (text: string) => void
}

const FINISH_MS = 120_000
const QUIET_MS = 20_000
/** Longer than it takes a store to look for what nobody has rung for. */
const FAREWELL_MS = 60_000
const FAREWELL_EVERY_MS = 2_000
/** A clock that was set is further off than this. */
const CLOCK_MS = 5

/** Real processes, real faults; then everything heals, everybody has to come to an end, and the histories are checked. */
export async function soak(options: SoakOptions): Promise<Verdict> {
  const run = new SoakRun(options)
  try {
    return await run.run()
  } finally {
    await run.close()
  }
}

class SoakRun {
  readonly #options: SoakOptions
  readonly #stage: Stage
  readonly #inflictions = new Inflictions()
  readonly #violations: Violation[] = []

  constructor(options: SoakOptions) {
    this.#options = options
    this.#stage = new Stage(options)
  }

  async run(): Promise<Verdict> {
    const { storage, folder } = this.#stage
    const aheadMs = wallAheadMs()
    await this.#stage.open()
    await this.#hurt()
    await this.#finish()
    const watch = await this.#stage.watch()
    const policy = await watch.policy()
    await this.#expectQuiet(watch)
    await this.#finishObservers(watch)
    await watch.close()
    await this.#stopServers()
    this.#seen()
    return verdictOf({
      folder,
      policy,
      shared: await this.#shared(aheadMs),
      violations: this.#violations,
      journals: this.#stage.journals,
      observers: this.#stage.observers,
      faults: this.#inflictions.counts,
      ...(this.#options.attack && { stops: this.#inflictions.stops }),
      writes: { made: storage.writes, refused: storage.refused },
    })
  }

  close(): Promise<void> {
    return this.#stage.close()
  }

  async #hurt(): Promise<void> {
    const { clients, servers, observers, database } = this.#stage
    const random = seededRandom(this.#options.seed)
    const { ttlMs, killServers } = this.#options
    const common = { random, inflictions: this.#inflictions }
    const isStoreHurt = database !== undefined
    new Faults({ ...common, clients, servers, observers, ttlMs, killServers, isStoreHurt }).start()
    database?.hurt({ ...common, ttlMs })
    if (this.#options.attack) this.#stage.attacker(this.#inflictions).start()
    await this.#pass()
    await this.#inflictions.heal()
    for (const { links } of [...clients, ...observers]) for (const link of links) link.heal()
  }

  async #pass(): Promise<void> {
    const { lengthMs, onProgress } = this.#options
    const endMs = Date.now() + lengthMs
    for (let leftMs = lengthMs; leftMs > 0; leftMs = endMs - Date.now()) {
      onProgress?.(`${Math.ceil(leftMs / 1_000)} s to go, ${this.#stage.storage.writes} writes`)
      const crash = this.#stage.servers.find((server) => server.crash !== undefined)?.crash
      if (crash !== undefined) throw new Error(crash)
      await sleep(Math.min(leftMs, 1_000))
    }
  }

  /** Everybody finishes what it has begun. */
  async #finish(): Promise<void> {
    const pending = new Set(this.#stage.clients)
    const all = [...pending].map((client) => client.finish().then(() => pending.delete(client)))
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
  async #expectQuiet(watch: Watch): Promise<void> {
    const endMs = Date.now() + QUIET_MS
    for (;;) {
      const active = await watch.active()
      if (active.length === 0) break
      if (Date.now() > endMs) {
        for (const view of active)
          this.#violated(8, `stuck after everybody had gone: ${JSON.stringify(view)}`, view.resource)
        break
      }
      await sleep(200)
    }
    // One more look at the heap, now that nobody is there.
    if (this.#stage.servers.length > 0) await sleep(6_000)
  }

  /** Observers have heard all there is once they hear of what happens last; one that has a gap just then, of the next. */
  async #finishObservers(watch: Watch): Promise<void> {
    const { observers } = this.#stage
    const endMs = Date.now() + FAREWELL_MS
    for (const observer of observers) observer.finish()
    for (let farewells = 1; observers.some(({ isRunning }) => isRunning) && Date.now() < endMs; farewells++) {
      await watch.reference(FAREWELL, `harness-${farewells}`)
      const againMs = Date.now() + FAREWELL_EVERY_MS
      while (observers.some(({ isRunning }) => isRunning) && Date.now() < againMs) await sleep(50)
    }
    for (const { name, isRunning, crash } of observers) {
      if (isRunning) this.#violated(18, `${name} was not told of what happened last within ${FAREWELL_MS} ms`)
      if (crash !== undefined) this.#violated(0, crash)
    }
  }

  async #stopServers(): Promise<void> {
    for (const server of this.#stage.servers) {
      const how = await server.stop()
      if (how !== 0) this.#violated(0, `${server.name} ended with ${how}`)
      if (server.crash !== undefined) this.#violated(0, server.crash)
      for (const defect of server.defects()) this.#violated(0, defect)
    }
  }

  /** What the harness has seen itself. */
  #seen(): void {
    const { clients, storage } = this.#stage
    for (const failure of [...this.#inflictions.failures, ...clients.flatMap(({ crashes }) => crashes)])
      this.#violated(0, failure)
    for (const { key, fence, highest } of storage.violations)
      this.#violated(2, `a write with fence ${fence} was accepted after one with ${highest}`, key)
  }

  /** All steps, where the store itself has written them down. */
  async #shared(aheadMs: number): Promise<SharedSteps | undefined> {
    const { database } = this.#stage
    if (!database) return undefined
    const setMs = wallAheadMs() - aheadMs
    if (Math.abs(setMs) > CLOCK_MS) this.#violated(0, `the clock was set by ${setMs} ms: times cannot be compared`)
    const { killedAtMs, doSessionsEndLate } = database
    return { steps: await database.steps(), aheadMs, killedAtMs, doSessionsEndLate }
  }

  #violated(invariant: number, what: string, resource = ''): void {
    this.#violations.push({ invariant, resource, what })
  }
}
