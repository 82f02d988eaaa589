import { type Random, seededRandom } from '@baton-lock/store/conformance/random'
import type { DatabaseFaultsOptions } from './database.ts'
import type { EtcdCluster } from './etcd.ts'
import type { EtcdMember } from './etcd-member.ts'
import { within } from './inflictions.ts'
import { type Link, sleep } from './link.ts'

interface EtcdFaultsOptions extends DatabaseFaultsOptions {
  readonly cluster: EtcdCluster
  /** The ways of everybody to its members. */
  readonly links: readonly Link[]
}

/** How long all members are well in between, on average: less at first, so that a short run meets every kind. */
const WELL_MS = 3_000
const WELL_AT_FIRST_MS = 700
const WAYS_EVERY_MS = 2_500
const COMPACTIONS_EVERY_MS = 3_000
const DOWN_MS = [200, 1_500] as const
const STOPPED_MS = [300, 2_000] as const
const FOLLOWER_CUT_MS = [500, 2_000] as const
/** It takes the others an election, of a second or two, to do without it. */
const LEADER_CUT_MS = [1_500, 3_000] as const
const NO_QUORUM_MS = [1_000, 3_500] as const
const BETWEEN_COMPACTIONS_MS = [10, 150] as const
/** A key of the harness's own: to change it moves the revision on. */
const BESIDE = { key: Buffer.from('beside').toString('base64'), value: '' }

/** What befalls an etcd: its members, one or two at a time, the ways to them, and what it remembers for those who watch. */
export class EtcdFaults {
  readonly #options: EtcdFaultsOptions

  constructor(options: EtcdFaultsOptions) {
    this.#options = options
  }

  start(): void {
    const { inflictions, random } = this.#options
    const [one, other, third] = [0, 1, 2].map(() => seededRandom(random.integer(2 ** 31))) as [Random, Random, Random]
    const members = new Kinds(one, this.#memberKinds(one))
    const ways = new Kinds(other, this.#wayKinds(other))
    const wellMs = () => (members.rounds > 1 ? WELL_MS : WELL_AT_FIRST_MS)
    // Never far apart.
    const about = (each: Random, everyMs: () => number) => () => everyMs() * (0.4 + 1.2 * each.next())
    inflictions.repeat(about(one, wellMs), () => members.next())
    inflictions.repeat(
      about(other, () => WAYS_EVERY_MS),
      () => ways.next(),
    )
    inflictions.repeat(
      about(third, () => COMPACTIONS_EVERY_MS),
      () => this.#compact(third),
    )
  }

  #memberKinds(random: Random): readonly Hurt[] {
    const { ttlMs } = this.#options
    const beyondTtlMs = [1.2 * ttlMs, 2 * ttlMs] as const
    return [
      async () => this.#kill('leader killed', [await this.#leader()], within(random, DOWN_MS)),
      async () => this.#pause('leader stopped', [await this.#leader()], within(random, beyondTtlMs)),
      async () => this.#isolate('leader cut off', await this.#leader(), within(random, LEADER_CUT_MS)),
      async () => this.#kill('follower killed', [await this.#follower(random)], within(random, DOWN_MS)),
      async () => this.#pause('follower stopped', [await this.#follower(random)], within(random, STOPPED_MS)),
      async () => this.#isolate('follower cut off', await this.#follower(random), within(random, FOLLOWER_CUT_MS)),
      () => {
        const most = shuffled(random, this.#options.cluster.members).slice(1)
        const forMs = within(random, NO_QUORUM_MS)
        return random.chance(0.5) ? this.#kill('quorum lost', most, forMs) : this.#pause('quorum lost', most, forMs)
      },
    ]
  }

  #wayKinds(random: Random): readonly Hurt[] {
    const { inflictions, links, ttlMs } = this.#options
    const some = () => (random.chance(0.7) ? [random.pick(links)] : links)
    return [
      async () => {
        const [hit, isLost] = [some(), random.chance(0.5)]
        inflictions.inflict('watches silenced', () => silenced(hit, isLost), ttlMs * (0.2 + 1.3 * random.next()))
      },
      async () => {
        inflictions.count('ways to etcd reset')
        for (const link of some()) link.reset()
      },
    ]
  }

  async #leader(): Promise<EtcdMember> {
    const { cluster } = this.#options
    return cluster.members[await cluster.leader()]!
  }

  async #follower(random: Random): Promise<EtcdMember> {
    const leader = await this.#leader()
    return random.pick(this.#options.cluster.members.filter((member) => member !== leader))
  }

  async #kill(name: string, members: readonly EtcdMember[], forMs: number): Promise<void> {
    this.#options.inflictions.count(name)
    await Promise.all(members.map((member) => member.kill()))
    await this.#options.inflictions.later(forMs, async () => {
      await Promise.all(members.map((member) => member.restart()))
    })
  }

  async #pause(name: string, members: readonly EtcdMember[], forMs: number): Promise<void> {
    this.#options.inflictions.count(name)
    await Promise.all(members.map((member) => member.pause()))
    await this.#options.inflictions.later(forMs, () => {
      for (const member of members) member.resume()
    })
  }

  async #isolate(name: string, member: EtcdMember, forMs: number): Promise<void> {
    const { inflictions, cluster } = this.#options
    inflictions.count(name)
    await inflictions.later(forMs, cluster.isolate(cluster.members.indexOf(member)))
  }

  /** Again and again; every other time while nobody is connected, so that what they watched from is gone when they are back. */
  async #compact(random: Random): Promise<void> {
    const { inflictions, cluster, links } = this.#options
    for (let left = 4 + random.integer(4); left > 0 && !inflictions.isOver; left--) {
      const isAway = left % 2 === 0
      const cut = isAway ? links : []
      const ends = cut.map((link) => link.refuse())
      for (const link of cut) link.reset()
      try {
        await cluster.call('/v3/kv/put', BESIDE)
        await cluster.tryToCompact()
        inflictions.count(isAway ? 'compacted in mid-wait' : 'compacted')
      } catch {
        // There is no quorum just now.
      }
      for (const end of ends) end()
      await sleep(within(random, BETWEEN_COMPACTIONS_MS))
    }
  }
}

/** What the members send does not arrive, and nobody is told; in the end it comes late, or is lost with the connections. */
function silenced(links: readonly Link[], isLost: boolean): () => void {
  const ends = links.map((link) => link.blackhole('back'))
  return () => {
    if (isLost) for (const link of links) link.reset()
    for (const end of ends) end()
  }
}

type Hurt = () => Promise<void>

/** One kind after another, in a new order each round: no round leaves one out. */
class Kinds {
  readonly #random: Random
  readonly #all: readonly Hurt[]
  #left: Hurt[] = []
  rounds = 0

  constructor(random: Random, all: readonly Hurt[]) {
    this.#random = random
    this.#all = all
  }

  next(): Promise<void> {
    if (this.#left.length === 0) {
      this.#left = shuffled(this.#random, this.#all)
      this.rounds++
    }
    return this.#left.pop()!()
  }
}

function shuffled<Each>(random: Random, all: readonly Each[]): Each[] {
  const left = [...all]
  return all.map(() => left.splice(random.integer(left.length), 1)[0]!)
}
