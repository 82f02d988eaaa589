import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { sleep } from '../harness/link.ts'
import type { ContentNode } from './content-node.ts'
import { type ActsOptions, count, type RandomCalls } from './random-calls.ts'
import { nowMs } from './soak-log.ts'

/** Longer than a lease of 10 s, and shorter than a call's patience. */
const LEASE_MS = 10_000
const UNION_BACK_MS = 20_000
/** So long it is waited for a fetch to strike. */
const AMBUSH_MS = 3_000
const STARTS = 3
const COMPLAINT_CHARS = 600

/** What goes wrong: each resolves when it has healed. Every kind comes once before any comes again. */
export class RandomFaults {
  readonly #options: ActsOptions & { readonly calls: RandomCalls }
  /** The nodes that something is the matter with. */
  readonly #hurt = new Set<string>()
  #deck: (() => Promise<void>)[] = []
  #isAway = false

  constructor(options: ActsOptions & { readonly calls: RandomCalls }) {
    this.#options = options
  }

  async act(): Promise<void> {
    const { random } = this.#options
    if (this.#deck.length === 0) this.#deck = this.#kinds()
    const [fault] = this.#deck.splice(random.integer(this.#deck.length), 1)
    await fault!()
  }

  /** A content store that ends although nobody killed it is a violation; it is started again, so that the run goes on. */
  async expectRunning(): Promise<void> {
    const { cluster, log } = this.#options
    for (const node of cluster.nodes) {
      const pid = node.storePid
      if (this.#hurt.has(node.name) || (pid !== undefined && existsSync(`/proc/${pid}`))) continue
      this.#hurt.add(node.name)
      const healed = log.begin('kill', { node: node.name })
      log.violated('crashed', node.name, `the content store has ended: ${node.log().slice(-COMPLAINT_CHARS)}`)
      await this.#started(node, 'content store', () => node.startStore())
      healed()
      this.#hurt.delete(node.name)
    }
  }

  #kinds(): (() => Promise<void>)[] {
    return [
      () => this.#killStore(),
      () => this.#killStore(),
      () => this.#killNode(),
      () => this.#stopStore(),
      () => this.#outage(),
      () => this.#cut('end'),
      () => this.#cut('reset'),
      () => this.#corrupt(),
      () => this.#throttle(),
      () => this.#killUnion(),
    ]
  }

  /** The content store alone, mostly for less than its lease. */
  async #killStore(): Promise<void> {
    await this.#hurting('stores killed', async (node) => {
      const healed = this.#options.log.begin('kill', { node: node.name })
      await node.killStore()
      await sleep(this.#time(0.3))
      await this.#started(node, 'content store', () => node.startStore())
      healed()
    })
  }

  async #killNode(): Promise<void> {
    await this.#hurting('nodes killed', async (node) => {
      const { log, dead } = this.#options
      dead.add(node.name)
      const healed = log.begin('kill', { node: node.name })
      await node.kill()
      await sleep(this.#time(0.5))
      await this.#started(node, 'content store', () => node.startStore())
      await this.#started(node, 'containerd', () => node.containerd.restart())
      healed()
      dead.delete(node.name)
    })
  }

  async #stopStore(): Promise<void> {
    await this.#hurting('stores stopped', async (node) => {
      const { log, random } = this.#options
      const pid = node.storePid!
      const healed = log.begin('stop', { node: node.name })
      process.kill(pid, 'SIGSTOP')
      await sleep(LEASE_MS + 1_000 + random.integer(4_000))
      process.kill(pid, 'SIGCONT')
      healed()
    })
  }

  /** Away for a moment, or for longer than nodes wait for it. */
  async #outage(): Promise<void> {
    const { cluster, log, random, counts } = this.#options
    if (this.#isAway) return
    this.#isAway = true
    const { node, done } = await this.#ambush()
    count(counts, node === undefined ? 'outages' : 'outages in mid-fetch')
    const healed = log.begin('outage')
    await cluster.killServer()
    await sleep(random.chance(0.3) ? random.integer(3_000) : 6_000 + random.integer(6_000))
    await this.#started(undefined, 'lock server', () => cluster.startServer())
    healed()
    this.#isAway = false
    await done
  }

  async #cut(how: 'end' | 'reset'): Promise<void> {
    const { cluster, log, random, counts, calls } = this.#options
    const { image, done } = await calls.swarm()
    const { digest, size } = random.pick(image.blobs)
    count(counts, `cuts (${how})`)
    log.begin('cut', { digest })
    cluster.link.faults.cut({ digest, afterBytes: 1 + random.integer(size), times: 1 + random.integer(3), how })
    await done
  }

  async #corrupt(): Promise<void> {
    const { cluster, log, random, counts, calls } = this.#options
    const { image, done } = await calls.swarm()
    const { digest, size } = random.pick(image.blobs)
    count(counts, 'corruptions')
    log.begin('corrupt', { digest })
    cluster.link.faults.corrupt({ digest, atByte: random.integer(size), times: 1 })
    await done
  }

  async #throttle(): Promise<void> {
    const { cluster, log, random, counts } = this.#options
    count(counts, 'throttlings')
    const healed = log.begin('throttle')
    cluster.link.faults.throttle(100_000 + random.integer(900_000))
    await sleep(3_000 + random.integer(9_000))
    cluster.link.faults.throttle(undefined)
    healed()
  }

  /** The content store mounts it again. */
  async #killUnion(): Promise<void> {
    await this.#hurting('unions killed', async (node) => {
      const { log } = this.#options
      const pid = node.unionPid
      if (pid === undefined) return
      const healed = log.begin('union', { node: node.name })
      process.kill(pid, 'SIGKILL')
      const endMs = nowMs() + UNION_BACK_MS
      while (!isMounted(node) && nowMs() < endMs) await sleep(50)
      if (!isMounted(node)) {
        log.violated(
          'stuck',
          node.name,
          `the union is not mounted again ${UNION_BACK_MS / 1_000} s after mergerfs ended`,
        )
        await node.killStore()
        await this.#started(node, 'content store', () => node.startStore())
      }
      healed()
    })
  }

  /**
   * Mostly it is to strike in the middle of a fetch: all nodes pull a new image, slowly. Resolves with the node that fetches, where
   * there is one, and with how to wait for the pulls.
   */
  async #ambush(): Promise<{ readonly node?: string; readonly done?: Promise<unknown> }> {
    const { cluster, calls, random, log } = this.#options
    if (random.chance(0.3)) return {}
    const healed = log.begin('throttle')
    cluster.link.faults.throttle(100_000 + random.integer(300_000))
    const { image, done } = await calls.swarm()
    const sizes = new Map(image.blobs.map(({ digest, size }) => [digest, size]))
    const underWay = () =>
      cluster.link.gets.find(({ digest, startByte, bytes }) => startByte + bytes < (sizes.get(digest) ?? 0))
    for (const endMs = nowMs() + AMBUSH_MS; !underWay() && nowMs() < endMs; ) await sleep(20)
    await sleep(random.integer(AMBUSH_MS / 2))
    const node = underWay()?.node
    const all = done.then(() => {
      cluster.link.faults.throttle(undefined)
      healed()
    })
    return { done: all, ...(node !== undefined && { node }) }
  }

  /** A node with which nothing is the matter yet, while there is another one. */
  async #hurting(what: string, work: (node: ContentNode) => Promise<void>): Promise<void> {
    const { cluster, random, counts } = this.#options
    const { node: fetching, done } = await this.#ambush()
    const well = cluster.nodes.filter(({ name }) => !this.#hurt.has(name))
    if (well.length > 1) {
      const node = well.find(({ name }) => name === fetching) ?? random.pick(well)
      this.#hurt.add(node.name)
      count(counts, node.name === fetching ? `${what} in mid-fetch` : what)
      try {
        await work(node)
      } finally {
        this.#hurt.delete(node.name)
      }
    }
    await done
  }

  /** On a busy machine a start may take longer than it is given: only the last try counts. */
  async #started(node: ContentNode | undefined, what: string, start: () => Promise<void>): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await start()
      } catch (error) {
        const about = node?.name ?? 'the lock server'
        if (tries === STARTS) return this.#options.log.violated('stuck', about, `the ${what} does not start: ${error}`)
        if (what === 'content store') await node?.killStore()
        else if (!node) await this.#options.cluster.killServer()
      }
    }
  }

  /** Longer than a lease, with this probability. */
  #time(longer: number): number {
    const { random } = this.#options
    return random.chance(longer) ? LEASE_MS + 500 + random.integer(4_000) : random.integer(3_000)
  }
}

/** The node's own branch can be seen in it. */
function isMounted({ root, name }: ContentNode): boolean {
  try {
    return readdirSync(join(root, 'merged', '.baton', 'branches')).includes(name)
  } catch {
    return false
  }
}
