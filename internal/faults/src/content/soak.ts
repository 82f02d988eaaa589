import { cpSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { seededRandom } from '@baton-lock/store/conformance/random'
import { atExit } from '@baton-lock/test-support/at-exit'
import { sleep } from '../harness/link.ts'
import { PROGRAMS } from '../programs.ts'
import { BlobWatch } from './blob-watch.ts'
import { checkCalls } from './call-check.ts'
import { ContentCluster } from './content-cluster.ts'
import { checkFetches } from './fetch-check.ts'
import { type Image, makeImage } from './image.ts'
import { removeWithMounts } from './mounts.ts'
import { checkQuiet } from './quiet-point.ts'
import { type ActsOptions, digestsOf, RandomCalls } from './random-calls.ts'
import { RandomFaults } from './random-faults.ts'
import { checkHealed } from './soak-end.ts'
import { type ContentViolation, nowMs, SoakLog } from './soak-log.ts'

interface ContentSoakOptions {
  readonly lengthMs: number
  readonly seed: number
  readonly nodes: number
  /** The built command line; that of this build where it is absent. */
  readonly main?: string
  readonly onProgress: (text: string) => void
}

interface ContentVerdict {
  readonly violations: readonly ContentViolation[]
  /** What was done, and what was seen. */
  readonly counts: Readonly<Record<string, number>>
  /** GETs of blobs that were there, by what excuses them. */
  readonly excused: Readonly<Record<string, number>>
  /** Where logs are kept, if something was violated. */
  readonly folder: string | undefined
}

/** So long things happen; then all comes to rest, and everything is looked at. */
const ROUND_MS = 30_000
/** Calls and faults end by themselves long before. */
const ROUND_END_MS = 240_000
const CALL_EVERY_MS = 600
const FAULT_EVERY_MS = 4_000
const LAYER_BYTES = 400_000
const LARGE_LAYER_BYTES = 2_500_000

/** A real cluster, real faults; at quiet points and at the end everything that a node counts on has to be there. */
export async function soakContent(options: ContentSoakOptions): Promise<ContentVerdict> {
  // Short: sockets lie in it.
  const folder = mkdtempSync('/tmp/bcs-')
  const forget = atExit(() => removeWithMounts(folder))
  const names = Array.from({ length: options.nodes }, (_, place) => `n${place + 1}`)
  const cluster = await ContentCluster.start({ folder, main: options.main ?? PROGRAMS.baton, names })
  try {
    return await new ContentSoak(options, cluster, folder).run()
  } finally {
    await cluster.stop()
    removeWithMounts(folder)
    forget()
  }
}

class ContentSoak {
  readonly #options: ContentSoakOptions
  readonly #folder: string
  readonly #acts: ActsOptions
  readonly #calls: RandomCalls
  readonly #faults: RandomFaults
  readonly #watch: BlobWatch
  readonly #startMs = nowMs()

  constructor(options: ContentSoakOptions, cluster: ContentCluster, folder: string) {
    this.#options = options
    this.#folder = folder
    const [log, random] = [new SoakLog(), seededRandom(options.seed)]
    this.#acts = { cluster, random, log, images: imagesOf(random.integer), counts: {}, dead: new Set() }
    this.#calls = new RandomCalls(this.#acts)
    this.#faults = new RandomFaults({ ...this.#acts, calls: this.#calls })
    this.#watch = new BlobWatch({ nodes: cluster.nodes, gets: () => cluster.link.gets, log })
  }

  async run(): Promise<ContentVerdict> {
    const { cluster, images, counts } = this.#acts
    for (const image of images) await cluster.registry.push(image)
    await Promise.all(cluster.nodes.map((node) => node.start()))
    this.#watch.start()
    const guarding = setInterval(() => void this.#faults.expectRunning(), 500)
    const quiet = { ...this.#acts, calls: this.#calls, onProgress: (text: string) => this.#progress(text) }
    for (const endMs = nowMs() + this.#options.lengthMs; nowMs() < endMs; ) {
      await this.#round(Math.min(ROUND_MS, endMs - nowMs()))
      await checkQuiet(quiet)
      counts['quiet points'] = (counts['quiet points'] ?? 0) + 1
    }
    clearInterval(guarding)
    await this.#faults.expectRunning()
    await checkHealed(quiet)
    await this.#faults.expectRunning()
    await this.#watch.stop()
    return this.#verdict()
  }

  /** Things happen for a while; resolves when all of them have come to their end. */
  async #round(lengthMs: number): Promise<void> {
    const { log, cluster } = this.#acts
    const endMs = nowMs() + lengthMs
    const underWay = new Set<Promise<void>>()
    const begin = (act: () => Promise<void>) => {
      const done: Promise<void> = act()
        .catch((error) => log.violated('stuck', 'the harness', String(error)))
        .finally(() => underWay.delete(done))
      underWay.add(done)
    }
    const keepOn = async (everyMs: number, act: () => Promise<void>) => {
      while (nowMs() < endMs) {
        begin(act)
        await sleep(everyMs * (0.5 + this.#acts.random.next()))
      }
    }
    const showing = setInterval(() => this.#progress(`${underWay.size} acts under way`), 1_000)
    await Promise.all([
      keepOn(CALL_EVERY_MS, () => this.#calls.act()),
      keepOn(FAULT_EVERY_MS, () => this.#faults.act()),
    ])
    const late = nowMs() + ROUND_END_MS
    while (underWay.size > 0 && nowMs() < late) await Promise.race([sleep(500), ...underWay])
    clearInterval(showing)
    if (underWay.size > 0) throw new Error(`${underWay.size} acts have not come to an end within ${ROUND_END_MS} ms`)
    cluster.link.faults.heal()
    log.heal()
  }

  #progress(text: string): void {
    const { counts, log } = this.#acts
    const seconds = Math.floor((nowMs() - this.#startMs) / 1_000)
    const found = log.violations.length > 0 ? `, ${log.violations.length} VIOLATIONS` : ''
    this.#options.onProgress(
      `${seconds} s, ${counts.pulls ?? 0} pulls, ${this.#watch.gets.length} GETs${found}: ${text}`,
    )
  }

  #verdict(): ContentVerdict {
    const { log, counts } = this.#acts
    const { gets, copies } = this.#watch
    const { faults, calls } = log
    const fetches = checkFetches({ gets, copies, faults, calls })
    const { digests } = this.#calls
    const violations = [...log.violations, ...fetches.violations, ...checkCalls({ calls, faults, digests })]
    counts.GETs = gets.length
    counts['copies published'] = copies.length
    const folder = violations.length > 0 ? this.#keep(violations) : undefined
    return { violations, counts, excused: fetches.excused, folder }
  }

  /** What is needed to understand it. */
  #keep(violations: readonly ContentViolation[]): string {
    const { cluster, log } = this.#acts
    const folder = `/tmp/baton-content-soak-${this.#options.seed}-${process.pid}`
    mkdirSync(folder, { recursive: true })
    const { gets, copies } = this.#watch
    const { faults, calls } = log
    const images = this.#acts.images.map((image) => ({ name: image.name, digests: digestsOf(image) }))
    const all = { violations, images, faults, calls, gets, copies, wallAheadMs: Date.now() - nowMs() }
    writeFileSync(join(folder, 'seen.json'), JSON.stringify(all, null, 1))
    cpSync(join(this.#folder, 'server.log'), join(folder, 'server.log'))
    for (const { name, root } of cluster.nodes) {
      cpSync(join(root, 'store.log'), join(folder, `${name}-store.log`))
      cpSync(join(root, 'c', 'log'), join(folder, `${name}-containerd.log`))
    }
    return folder
  }
}

/** Twelve images of few layers, most of which are in several of them. */
function imagesOf(integer: (below: number) => number): Image[] {
  return Array.from({ length: 12 }, (_, place) => {
    const isLarge = place % 5 === 4
    const layers = new Set(Array.from({ length: 2 + integer(3) }, () => `layer-${integer(isLarge ? 4 : 9)}`))
    const layerBytes = isLarge ? LARGE_LAYER_BYTES : LAYER_BYTES
    return makeImage({ name: `i${place}`, tag: '1', layers: [...layers], layerBytes, seed: '' })
  })
}
