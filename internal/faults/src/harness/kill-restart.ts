import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Baton, connect, type Grant } from '@baton-lock/client'
import { type Random, seededRandom } from '@baton-lock/store/conformance/random'
import { startServe, urlOf } from '@baton-lock/test-support/baton-server'
import { Processes, type Started } from '@baton-lock/test-support/processes'
import { type Call, drawCall } from '../calls/call.ts'
import { type Performer, perform } from '../calls/perform.ts'
import { PROGRAMS } from '../programs.ts'
import { Acknowledged } from './acknowledged.ts'
import { sleep } from './link.ts'

interface KillRestartOptions {
  readonly seed: number
  readonly kills: number
  readonly lengthMs: number
  readonly clients: number
  readonly onFailure: (what: string) => void
}

interface KillRestartVerdict {
  readonly counts: Readonly<Record<string, number>>
  readonly failures: readonly string[]
}

/** Many times what a restart takes: no lease runs out for want of a server. */
const TTL_MS = 20_000
const SHORTEST_LIFE_MS = 50
const LONGEST_LIFE_MS = 1_500
const RESOURCES = 6
const WORK_MS = [0, 0, 5, 20]
/** After each kill, so many of the last successes of all clients are looked at by each. */
const LAST = 20
const AT_ONCE = 50
const MOST_FAILURES = 20

/** Kills a server on a file store at random moments under load; all that it had acknowledged must be there afterwards. */
export async function killRestart(options: KillRestartOptions): Promise<KillRestartVerdict> {
  const run = new KillRestart(options)
  try {
    return await run.run()
  } finally {
    run.close()
  }
}

class KillRestart {
  readonly #options: KillRestartOptions
  readonly #random: Random
  readonly #folder = mkdtempSync(join(tmpdir(), 'baton-kill-'))
  readonly #processes = new Processes()
  readonly #acknowledged: Acknowledged
  #server!: Started
  #url = ''
  #kills = 0
  #isOver = false

  constructor(options: KillRestartOptions) {
    this.#options = options
    this.#random = seededRandom(options.seed)
    this.#acknowledged = new Acknowledged(options.onFailure)
  }

  async run(): Promise<KillRestartVerdict> {
    const { kills, lengthMs, clients } = this.#options
    const endMs = Date.now() + lengthMs
    await this.#start('0')
    const lives = Array.from({ length: clients }, (_, index) => this.#live(index))
    // One that throws ends the run at once.
    const failed = Promise.all(lives).then(() => {})
    failed.catch(() => {})
    while (this.#kills < kills && Date.now() < endMs && this.#acknowledged.failures.length < MOST_FAILURES) {
      const lifeMs = SHORTEST_LIFE_MS + this.#random.next() * (LONGEST_LIFE_MS - SHORTEST_LIFE_MS)
      await Promise.race([sleep(lifeMs), failed])
      await this.#server.end('SIGKILL')
      this.#kills++
      await this.#start(new URL(this.#url).port)
    }
    this.#isOver = true
    await failed
    await this.#checkEnd()
    const { counts, failures } = this.#acknowledged
    return { counts: { kills: this.#kills, ...counts }, failures }
  }

  close(): void {
    this.#processes.killAll()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async #start(port: string): Promise<void> {
    const flags = ['--port', port, '--store', `file:${join(this.#folder, 'store')}`]
    this.#server = startServe([process.execPath, PROGRAMS.baton], flags, { processes: this.#processes })
    this.#url = await urlOf(this.#server)
  }

  /** One client: it calls, and after each kill it looks whether all that it and others were told still holds. */
  async #live(index: number): Promise<void> {
    const name = `client-${index}`
    const random = seededRandom(this.#options.seed * 1_009 + index)
    const baton = await this.#connect(name)
    const standing = await Standing.open(baton, this.#acknowledged)
    const performer = this.#performer(name, baton)
    let kills = 0
    for (let number = 1; !this.#isOver; number++) {
      const call = this.#draw(random, name, number)
      this.#acknowledged.begins(name, call)
      await perform(performer, call, number)
      this.#acknowledged.ends(name, call)
      if (kills === this.#kills) continue
      kills = this.#kills
      await standing.check()
      await this.#acknowledged.checkReferences(baton, name)
      for (const each of this.#acknowledged.lastOutcomes(LAST)) await this.#acknowledged.checkOutcome(baton, each)
    }
    await standing.check()
    await standing.close()
    await baton.close()
  }

  /**
   * No grant is revoked, and nothing that is pulled or referenced is deleted: what was acknowledged stands. A resource is pulled
   * by one call only.
   */
  #draw(random: Random, name: string, number: number): Call {
    const choices = {
      resources: RESOURCES,
      nodes: [name],
      workMs: WORK_MS,
      revisions: 1,
      revisionRate: 0,
      referenceRate: 0.1,
    }
    let call = drawCall(random, choices)
    while (call.kind === 'revoke' || call.kind === 'drop-node') call = drawCall(random, choices)
    if (call.kind === 'add-reference' || call.kind === 'release-reference')
      return { ...call, resource: `used-${call.resource}` }
    return call.operation === 'pull' ? { ...call, resource: `layer-${name}-${number}` } : call
  }

  #performer(name: string, baton: Baton): Performer {
    return {
      name,
      baton,
      nowMs: () => Date.now(),
      pause: (ms) => sleep(ms),
      abortAfter: (ms) => AbortSignal.timeout(ms),
      // Fences are looked at when work begins.
      write: () => true,
      result: (_, number) => ({ call: number }),
      record: (record) => {
        if (record.kind !== 'change') this.#acknowledged.record(record)
      },
    }
  }

  async #checkEnd(): Promise<void> {
    const baton = await this.#connect('last')
    const outcomes = this.#acknowledged.lastOutcomes(Infinity)
    for (let from = 0; from < outcomes.length; from += AT_ONCE)
      await Promise.all(
        outcomes.slice(from, from + AT_ONCE).map((each) => this.#acknowledged.checkOutcome(baton, each)),
      )
    await this.#acknowledged.checkReferences(baton)
    await this.#acknowledged.checkFree(baton)
    await baton.close()
  }

  #connect(node: string): Promise<Baton> {
    return connect(this.#url, { node, ttlMs: TTL_MS, onNotice: () => {} })
  }
}

/** A grant from the first to the last moment, and a waiter behind it: both must stand through all restarts. */
class Standing {
  readonly #baton: Baton
  readonly #acknowledged: Acknowledged
  readonly #grant: Grant
  readonly #next: Promise<Grant>

  private constructor(
    baton: Baton,
    acknowledged: Acknowledged,
    { grant, next }: { grant: Grant; next: Promise<Grant> },
  ) {
    this.#baton = baton
    this.#acknowledged = acknowledged
    this.#grant = grant
    this.#next = next
  }

  static async open(baton: Baton, acknowledged: Acknowledged): Promise<Standing> {
    const resource = `held-${baton.node}`
    const grant = await baton.acquire('lock', resource)
    let next!: Promise<Grant>
    await new Promise<void>((resolve, reject) => {
      next = baton.acquire('lock', resource, { owner: `${grant.owner}-waiter`, onQueued: () => resolve() })
      next.catch(reject)
    })
    return new Standing(baton, acknowledged, { grant, next })
  }

  async check(): Promise<void> {
    const { resource, owner, fence, signal } = this.#grant
    const view = await this.#baton.status(resource)
    const [held] = view.grants
    this.#acknowledged.expect(
      held?.owner === owner && held.fence === fence && !signal.aborted,
      `${owner} lost its grant: ${JSON.stringify(view)}`,
    )
    this.#acknowledged.expect(
      view.waiters[0]?.owner === `${owner}-waiter`,
      `${owner}-waiter lost its place: ${JSON.stringify(view)}`,
    )
  }

  /** The one in line gets its turn. */
  async close(): Promise<void> {
    await this.#grant.succeed()
    const next = await this.#next
    this.#acknowledged.expect(
      next.fence > this.#grant.fence,
      `${this.#grant.resource} was granted with fence ${next.fence} after ${this.#grant.fence}`,
    )
    await next.succeed()
  }
}
