import { readdir } from 'node:fs/promises'
import type { Baton } from '@baton-lock/client'
import { type ClientClock, pause } from '@baton-lock/client/internal'
import { digestOf, isDigest } from '../blobs/digest.ts'
import type { Uses } from '../blobs/uses.ts'
import type { Hands } from '../ingests/blobs-in-hand.ts'
import type { Ingests } from '../ingests/ingests.ts'
import { blobsIn, type NodeFolders } from '../node/folders.ts'
import type { Pending } from './pending.ts'

interface UpkeepOptions {
  readonly own: NodeFolders
  readonly clock: ClientClock
  readonly baton: Baton
  readonly uses: Uses
  readonly hands: Hands
  readonly ingests: Ingests
  readonly pending: Pending
  readonly log: (sentence: string) => void
}

const EVERY_MS = 3_600_000
/** The first time, while the lock server does not answer. */
const AGAIN_MS = 5_000

/** At the start and every hour: whatever a crash left between two steps is put right. */
export class Upkeep {
  readonly #options: UpkeepOptions
  readonly #closed = new AbortController()
  #running: Promise<void> | undefined

  constructor(options: UpkeepOptions) {
    this.#options = options
  }

  start(): void {
    this.#running = this.#run()
  }

  async close(): Promise<void> {
    this.#closed.abort(new Error('closed'))
    await this.#running
  }

  async #run(): Promise<void> {
    const { clock, ingests, log } = this.#options
    while (!this.#closed.signal.aborted) {
      let delayMs = EVERY_MS
      try {
        const stale = await ingests.removeStale(clock.wallMs())
        if (stale > 0) log(`${stale} ingests that nobody went on with were removed`)
        await this.settle()
      } catch {
        delayMs = AGAIN_MS
      }
      await pause(clock, delayMs, this.#closed.signal).catch(() => {})
    }
  }

  /**
   * The lock server is told of what it does not know: blobs that this node uses, and those that it does not any more; and asked
   * to delete what lies in this node's folder and nobody uses.
   */
  async settle(): Promise<void> {
    const { own, baton, uses, hands, pending } = this.#options
    const referenced = new Map<string, boolean>()
    for await (const { resource, references } of baton.list({})) {
      if (references.length > 0) referenced.set(resource, references.includes(own.name))
    }
    for (const digest of uses.all().keys()) {
      if (!referenced.get(digest) && !hands.has(digest)) await pending.add('add', digest)
    }
    const unused = new Set<string>()
    for (const [digest, isOurs] of referenced) if (isOurs && isDigest(digest)) unused.add(digest)
    for (const hex of await readdir(blobsIn(own.host))) {
      const digest = digestOf(hex)
      if (isDigest(digest) && !referenced.has(digest)) unused.add(digest)
    }
    for (const digest of unused) {
      if (!uses.get(digest) && !hands.has(digest) && !pending.has(digest)) await pending.add('drop', digest)
    }
  }
}
