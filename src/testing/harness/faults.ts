import { type Random, seededRandom } from '../random.ts'
import type { ClientSlot } from './client-slot.ts'
import { sleep } from './link.ts'
import type { ServerProcess } from './server-process.ts'

export interface FaultsOptions {
  readonly random: Random
  readonly clients: readonly ClientSlot[]
  readonly servers: readonly ServerProcess[]
  readonly ttlMs: number
  /** Only where the store outlives its server. */
  readonly killServers: boolean
}

/** A fault that is over by itself, or one that is undone. */
type Damage = (() => void) | undefined

/** How often something befalls each client, and the servers, on average. */
const CLIENT_EVERY_MS = 8_000
const SERVER_EVERY_MS = 12_000
/** A client that is killed is started again, and to start fifty takes a machine its time. */
const LEAST_MS = 300
const UP_AGAIN_MS = 1_000

/** Draws what goes wrong, does it, and undoes it in time. */
export class Faults {
  readonly counts: Record<string, number> = {}
  readonly #options: FaultsOptions
  readonly #undo = new Set<() => void>()
  readonly #under = new Set<Promise<void>>()
  #isOver = false
  #isServerDown = false
  /** What should have come up again, and did not. */
  readonly failures: string[] = []

  constructor(options: FaultsOptions) {
    this.#options = options
  }

  start(): void {
    const { clients, random } = this.#options
    const [one, other] = [seededRandom(random.integer(2 ** 31)), seededRandom(random.integer(2 ** 31))]
    void this.#repeat(Math.max(LEAST_MS, CLIENT_EVERY_MS / clients.length), one, () => this.#hurtClient(one))
    void this.#repeat(SERVER_EVERY_MS, other, () => this.#hurtServer(other))
  }

  /** Everything heals: all run, and everything passes. */
  async heal(): Promise<void> {
    this.#isOver = true
    for (const undo of this.#undo) undo()
    await Promise.all(this.#under)
    for (const { links } of this.#options.clients) for (const link of links) link.heal()
  }

  async #repeat(everyMs: number, random: Random, hurt: () => void): Promise<void> {
    for (;;) {
      await sleep(-Math.log(1 - random.next()) * everyMs)
      if (this.#isOver) return
      hurt()
    }
  }

  #hurtClient(random: Random): void {
    const { clients, ttlMs } = this.#options
    const client = random.pick(clients)
    const link = random.pick(client.links)
    // Beyond the lease, for the most part.
    const forMs = ttlMs * (0.1 + 2 * random.next())
    const kinds: Record<string, () => Damage> = {
      'client stopped': () => this.#stopped(client),
      'client killed': () => this.#killed(client),
      'blackhole there': () => this.#blackholed(client, 'there'),
      'blackhole back': () => this.#blackholed(client, 'back'),
      'blackhole both': () => this.#blackholed(client, 'both'),
      delay: () => link.delay(random.pick([50, 300, 1_500])),
      'slow read': () => link.readSlowly(),
      'connections refused': () => link.refuse(),
      reset: () => void link.reset(),
      'half-closed to the server': () => void link.halfClose('server'),
      'half-closed to the client': () => void link.halfClose('client'),
    }
    const names = [...Object.keys(kinds), 'client stopped', 'client stopped', 'client killed', 'reset']
    const name = random.pick(names)
    if (name.startsWith('client') && !client.isRunning) return
    this.#inflict(name, kinds[name]!, forMs)
  }

  #hurtServer(random: Random): void {
    const { servers, ttlMs, killServers } = this.#options
    if (this.#isServerDown) return
    const server = random.pick(servers)
    if (killServers && random.chance(0.6)) {
      this.#inflict('server killed', () => this.#restarted(server), 0)
      return
    }
    const stop = () => {
      server.signal('SIGSTOP')
      return () => server.signal('SIGCONT')
    }
    this.#inflict('server stopped', stop, ttlMs * (0.3 + 1.7 * random.next()))
  }

  #inflict(name: string, damage: () => Damage, forMs: number): void {
    this.counts[name] = (this.counts[name] ?? 0) + 1
    const undo = damage()
    if (!undo) return
    const once = () => {
      if (this.#undo.delete(once)) undo()
    }
    this.#undo.add(once)
    setTimeout(once, forMs).unref()
  }

  #stopped(client: ClientSlot): Damage {
    client.pause()
    return () => client.resume()
  }

  #killed(client: ClientSlot): Damage {
    this.#follow(client.kill().then(() => this.#later(() => client.start())))
    return undefined
  }

  #restarted(server: ServerProcess): Damage {
    this.#isServerDown = true
    const back = server.kill().then(() => this.#later(() => server.start()))
    this.#follow(
      back.finally(() => {
        this.#isServerDown = false
      }),
    )
    return undefined
  }

  /** What was sent meanwhile arrives late, or never. */
  #blackholed(client: ClientSlot, which: 'there' | 'back' | 'both'): Damage {
    const ends = client.links.map((link) => link.blackhole(which))
    const isLost = this.#options.random.chance(0.5)
    return () => {
      if (isLost) for (const link of client.links) link.reset()
      for (const end of ends) end()
    }
  }

  async #later(act: () => void | Promise<void>): Promise<void> {
    const atMs = Date.now() + UP_AGAIN_MS * this.#options.random.next()
    while (!this.#isOver && Date.now() < atMs) await sleep(20)
    await act()
  }

  #follow(work: Promise<void>): void {
    const done = work.catch((error) => void this.failures.push(String(error))).finally(() => this.#under.delete(done))
    this.#under.add(done)
  }
}
