import { type Random, seededRandom } from '@baton-lock/store/conformance/random'
import { machineMs } from '../history/journal.ts'
import type { ClientSlot } from './client-slot.ts'
import { atRandom, type Damage, type Inflictions } from './inflictions.ts'
import { type Link, sleep } from './link.ts'
import type { ObserverSlot } from './observer-slot.ts'
import type { ServerProcess } from './server-process.ts'

interface FaultsOptions {
  readonly random: Random
  readonly inflictions: Inflictions
  readonly clients: readonly ClientSlot[]
  readonly servers: readonly ServerProcess[]
  readonly observers: readonly ObserverSlot[]
  readonly ttlMs: number
  /** Only where the store outlives its server. */
  readonly killServers: boolean
  /** The store may be away when a server starts: then it has to say so, and is started again. */
  readonly isStoreHurt: boolean
}

/** How often something befalls each client, and the servers, on average. */
const CLIENT_EVERY_MS = 8_000
const SERVER_EVERY_MS = 12_000
const OBSERVERS_EVERY_MS = 4_000
/** A client that is killed is started again, and to start fifty takes a machine its time. */
const LEAST_MS = 300
const UP_AGAIN_MS = 1_000
/** Frames are a few hundred bytes each. */
const BREAK_BYTES = 2_000
const START_AGAIN_MS = 200
const STARTS_MS = 60_000

/** What befalls clients and observers, their ways to the servers, and the servers. */
export class Faults {
  readonly #options: FaultsOptions
  #isServerDown = false

  constructor(options: FaultsOptions) {
    this.#options = options
  }

  start(): void {
    const { clients, servers, observers, random, inflictions } = this.#options
    const [one, other] = [seededRandom(random.integer(2 ** 31)), seededRandom(random.integer(2 ** 31))]
    const everyMs = Math.max(LEAST_MS, CLIENT_EVERY_MS / clients.length)
    inflictions.repeat(atRandom(one, everyMs), () => this.#hurtClient(one))
    if (servers.length > 0) inflictions.repeat(atRandom(other, SERVER_EVERY_MS), () => this.#hurtServer(other))
    if (observers.length === 0) return
    const third = seededRandom(random.integer(2 ** 31))
    inflictions.repeat(atRandom(third, OBSERVERS_EVERY_MS), () => this.#hurtObserver(third))
  }

  #hurtClient(random: Random): void {
    const { clients, ttlMs, inflictions } = this.#options
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
      'broken in the middle there': () => link.breakAfter(random.integer(BREAK_BYTES), 'there'),
      'broken in the middle back': () => link.breakAfter(random.integer(BREAK_BYTES), 'back'),
      'half-closed to the server': () => void link.halfClose('server'),
      'half-closed to the client': () => void link.halfClose('client'),
    }
    const names = [...Object.keys(kinds), 'client stopped', 'client stopped', 'client killed', 'reset']
    const name = random.pick(names)
    if (name.startsWith('client') && !client.isRunning) return
    inflictions.inflict(name, kinds[name]!, forMs)
  }

  /** Only its ways: it has to come back, and be told the rest. */
  #hurtObserver(random: Random): void {
    const { observers, ttlMs, inflictions } = this.#options
    const { links } = random.pick(observers)
    const all = (damage: (link: Link) => () => void): Damage => {
      const ends = links.map(damage)
      return () => {
        for (const end of ends) end()
      }
    }
    const kinds: Record<string, () => Damage> = {
      'observer reset': () => {
        for (const link of links) link.reset()
        return undefined
      },
      'observer reads slowly': () => all((link) => link.readSlowly()),
      'observer blackholed': () => all((link) => link.blackhole('back')),
    }
    const name = random.pick([...Object.keys(kinds), 'observer reset'])
    inflictions.inflict(name, kinds[name]!, ttlMs * random.next())
  }

  #hurtServer(random: Random): void {
    const { servers, ttlMs, killServers, inflictions } = this.#options
    if (this.#isServerDown) return
    const server = random.pick(servers)
    if (killServers && random.chance(0.6)) {
      inflictions.inflict('server killed', () => this.#restarted(server), 0)
      return
    }
    const stop = () => {
      const fromMs = machineMs()
      server.signal('SIGSTOP')
      return () => {
        server.signal('SIGCONT')
        inflictions.stops.push({ fromMs, toMs: machineMs() })
      }
    }
    inflictions.inflict('server stopped', stop, ttlMs * (0.3 + 1.7 * random.next()))
  }

  #stopped(client: ClientSlot): Damage {
    client.pause()
    return () => client.resume()
  }

  #killed(client: ClientSlot): Damage {
    const { inflictions } = this.#options
    inflictions.follow(client.kill().then(() => inflictions.later(this.#upAgainMs(), () => client.start())))
    return undefined
  }

  #restarted(server: ServerProcess): Damage {
    const { inflictions } = this.#options
    this.#isServerDown = true
    const back = server.kill().then(() => inflictions.later(this.#upAgainMs(), () => this.#startAgain(server)))
    inflictions.follow(
      back.finally(() => {
        this.#isServerDown = false
      }),
    )
    return undefined
  }

  async #startAgain(server: ServerProcess): Promise<void> {
    const endMs = Date.now() + STARTS_MS
    for (;;) {
      try {
        return await server.start()
      } catch (error) {
        const isExcused = this.#options.isStoreHurt && server.hasFoundNoStore && Date.now() < endMs
        if (!isExcused) throw error
        await sleep(START_AGAIN_MS)
      }
    }
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

  #upAgainMs(): number {
    return UP_AGAIN_MS * this.#options.random.next()
  }
}
