import type { Random } from '@baton-lock/store/conformance/random'
import { sleep } from '../harness/link.ts'
import { missingIn } from './call-check.ts'
import type { ContentCluster } from './content-cluster.ts'
import type { ContentNode } from './content-node.ts'
import { type Image, makeImage } from './image.ts'
import { type Call, nowMs, type SoakLog } from './soak-log.ts'

/** What acts on the cluster at random works with. */
export interface ActsOptions {
  readonly cluster: ContentCluster
  /** Those that are pulled and removed; new ones come, old ones go. */
  readonly images: Image[]
  readonly random: Random
  readonly log: SoakLog
  /** How often each kind of act was done. */
  readonly counts: Record<string, number>
  /** The nodes whose containerd is not there at the moment. */
  readonly dead: Set<string>
}

/** While its content store is stopped or waits for a node that is, a pull takes longer than two leases. */
const PULL_MS = 90_000
const CALL_MS = 60_000
const PULLS_MAX = 12
const IMAGES_MAX = 20
const NEW_LAYER_BYTES = 300_000
const ABORTED_WITHIN_MS = 3_000

/** What users do: pulls by several nodes at a time, removals, collections; some of them are killed in the middle. */
export class RandomCalls {
  readonly #options: ActsOptions
  /** By node, the images that are being pulled or removed: containerd does not promise what comes of both at once. */
  readonly #inHand = new Map<string, Map<Image, number>>()
  /** The nodes on which leases are being dropped. */
  readonly #dropping = new Set<string>()
  /** By node, until when layers of any image may have been pruned. */
  readonly #prunedUntilMs = new Map<string, number>()
  /** By node and image, when the last pull that went well began. */
  readonly #pulledFromMs = new Map<string, number>()
  /** Of all images that there ever were. */
  readonly digests: Set<string>
  #made = 0
  #pulls = 0

  constructor(options: ActsOptions) {
    this.#options = options
    this.digests = new Set(options.images.flatMap(digestsOf))
    for (const { name } of options.cluster.nodes) this.#inHand.set(name, new Map())
  }

  /** Whether an image of this node must have all its blobs: nothing was pruned since, or while, it was pulled. */
  isWhole(node: string, image: Image): boolean {
    const prunedMs = this.#prunedUntilMs.get(node)
    return prunedMs === undefined || (this.#pulledFromMs.get(`${node} ${image.name}`) ?? 0) > prunedMs
  }

  /** One of them; resolves when it has ended, however that was. */
  async act(): Promise<void> {
    const { random } = this.#options
    const nodes = this.#alive()
    if (nodes.length === 0) return
    const node = random.pick(nodes)
    const draw = random.integer(100)
    if (draw < 35) return this.#together(nodes, { removing: 0 })
    if (draw < 60) return this.#together(nodes, { removing: 0.5 })
    if (draw < 70) return this.#together(nodes, { removing: 1 })
    if (draw < 80) {
      await this.#remove(node, random.pick(this.#options.images))
      return
    }
    if (draw < 87) return this.#collect(node, 'prune', () => node.containerd.prune({ timeoutMs: CALL_MS }))
    if (draw < 95) return this.#collect(node, 'gc', () => node.containerd.collectGarbage({ timeoutMs: CALL_MS }))
    return this.#dropLeases(node)
  }

  /** Some of the nodes pull an image, others remove it, at about the same time: the last one to use it may be among them. */
  async #together(nodes: readonly ContentNode[], { removing }: { readonly removing: number }): Promise<void> {
    const { random, images } = this.#options
    const image = random.pick(images)
    const some = nodes.filter(() => random.chance(0.7))
    const acts = some.map(async (node) => {
      const [delayMs, isRemoved] = [random.integer(400), random.chance(removing)]
      const [isAborted, afterMs] = [random.chance(0.1), random.integer(ABORTED_WITHIN_MS)]
      await sleep(delayMs)
      if (isRemoved) await this.#remove(node, image)
      else await this.pull(node, image, isAborted ? afterMs : undefined)
    })
    await Promise.all(acts)
  }

  /** An image that nobody has, with layers that others have too, pulled by all nodes at once. Resolves when the pulls have begun. */
  async swarm(): Promise<{ readonly image: Image; readonly done: Promise<unknown> }> {
    const { cluster, images, random, counts } = this.#options
    const name = `new${++this.#made}`
    const layers = [`${name}-a`, `layer-${random.integer(9)}`, `${name}-b`]
    const image = makeImage({ name, tag: '1', layers, layerBytes: NEW_LAYER_BYTES, seed: '' })
    await cluster.registry.push(image)
    for (const digest of digestsOf(image)) this.digests.add(digest)
    images.push(image)
    count(counts, 'new images')
    const pulls = this.#alive().map(async (node) => {
      await sleep(random.integer(200))
      await this.pull(node, image)
    })
    return { image, done: Promise.all([...pulls, this.#retire()]) }
  }

  /** The oldest of the new ones is removed everywhere; it is there for as long as a node may have it. */
  async #retire(): Promise<void> {
    const { cluster, images } = this.#options
    const oldest = images.length > IMAGES_MAX ? images.find(({ name }) => name.startsWith('new')) : undefined
    if (!oldest) return
    const removed = await Promise.all(cluster.nodes.map((node) => this.#remove(node, oldest)))
    const isGone = removed.every((isRemoved) => isRemoved)
    const at = images.indexOf(oldest)
    if (isGone && at >= 0) images.splice(at, 1)
  }

  /** Resolves with how it went; without a call, where there are too many already. */
  async pull(node: ContentNode, image: Image, abortAfterMs?: number): Promise<Call | undefined> {
    const { log, counts, dead } = this.#options
    const inHand = this.#inHand.get(node.name)!
    const isBarred = dead.has(node.name) || this.#dropping.has(node.name) || inHand.get(image) === -1
    if (this.#pulls >= PULLS_MAX || isBarred) return undefined
    const given = new AbortController()
    const timer = abortAfterMs === undefined ? undefined : setTimeout(() => given.abort(), abortAfterMs)
    const digests = digestsOf(image)
    const pull = () => node.containerd.pull(image.at(node.door), { timeoutMs: PULL_MS, signal: given.signal })
    this.#pulls++
    inHand.set(image, (inHand.get(image) ?? 0) + 1)
    const call = await log.call({ node: node.name, what: `pull ${image.name}`, digests }, pull, given)
    this.#pulls--
    inHand.set(image, inHand.get(image)! - 1)
    clearTimeout(timer)
    if (call.error === undefined) this.#pulledFromMs.set(`${node.name} ${image.name}`, call.fromMs)
    count(counts, call.error === undefined ? 'pulls' : call.isAborted ? 'pulls killed' : 'pulls failed')
    return call
  }

  /** Whether it was removed, if it was there. */
  async #remove(node: ContentNode, image: Image): Promise<boolean> {
    const { log, counts } = this.#options
    const inHand = this.#inHand.get(node.name)!
    if ((inHand.get(image) ?? 0) !== 0) return false
    inHand.set(image, -1)
    const remove = () => node.containerd.removeImage(image.at(node.door), { timeoutMs: CALL_MS })
    const call = await log.call({ node: node.name, what: `rm ${image.name}`, digests: [] }, remove)
    inHand.set(image, 0)
    count(counts, call.error === undefined ? 'removals' : 'removals failed')
    return call.error === undefined
  }

  async #collect(node: ContentNode, what: 'prune' | 'gc', collect: () => Promise<void>): Promise<void> {
    const { log, counts } = this.#options
    const call = await log.call({ node: node.name, what, digests: [] }, collect)
    const missing = call.error === undefined ? undefined : missingIn(call.error, this.digests)
    if (missing !== undefined) {
      const listed = await node.containerd.contentList().catch(() => [missing])
      call.isCollected = !listed.includes(missing)
    }
    if (what === 'prune') this.#prunedUntilMs.set(node.name, nowMs())
    if (call.error === undefined) count(counts, what === 'prune' ? 'prunes' : 'collections')
  }

  /** Those that killed pulls have left. A pull that is under way loses its blobs with its lease: that is containerd's. */
  async #dropLeases(node: ContentNode): Promise<void> {
    const { log, counts } = this.#options
    const inHand = this.#inHand.get(node.name)!
    if ([...inHand.values()].some((each) => each > 0)) return
    if (this.#dropping.has(node.name)) return
    this.#dropping.add(node.name)
    const drop = () => node.containerd.dropLeases({ timeoutMs: CALL_MS })
    const call = await log.call({ node: node.name, what: 'drop leases', digests: [] }, drop)
    this.#dropping.delete(node.name)
    if (call.error === undefined) count(counts, 'leases dropped')
  }

  #alive(): ContentNode[] {
    const { cluster, dead } = this.#options
    return cluster.nodes.filter(({ name }) => !dead.has(name))
  }
}

export function digestsOf({ manifest, blobs }: Image): string[] {
  return [manifest, ...blobs].map(({ digest }) => digest)
}

export function count(counts: Record<string, number>, what: string): void {
  counts[what] = (counts[what] ?? 0) + 1
}
