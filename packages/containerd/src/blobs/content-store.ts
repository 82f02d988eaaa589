import { join } from 'node:path'
import type { Baton } from '@baton-lock/client'
import { type ClientClock, pause } from '@baton-lock/client/internal'
import { Coordination } from '../coordination/coordination.ts'
import { type Message, Pending } from '../coordination/pending.ts'
import { Reachability } from '../coordination/reachability.ts'
import { Upkeep } from '../coordination/upkeep.ts'
import { Counters } from '../counters.ts'
import { ContentError } from '../errors.ts'
import { Hands } from '../ingests/blobs-in-hand.ts'
import { Ingests } from '../ingests/ingests.ts'
import { Writer, type WriterWorld } from '../ingests/writer.ts'
import type { ContentConfig } from '../node/config.ts'
import { makeFolders } from '../node/folders.ts'
import { takeFormat } from '../node/format.ts'
import { lockNode } from '../node/node-lock.ts'
import { digestOf, isDigest } from './digest.ts'
import { importBlobs } from './import-blobs.ts'
import { unmark } from './mark.ts'
import { Readers } from './readers.ts'
import { removeCopies, settleRemoved } from './removal.ts'
import type { Storage } from './storage.ts'
import { Union } from './union.ts'
import { type Use, Uses } from './uses.ts'

interface ContentStoreOptions {
  readonly config: ContentConfig
  readonly clock: ClientClock
  /** Connected, or not yet. */
  readonly baton: Baton
  readonly log: (sentence: string) => void
  /** The union of all nodes: mounted when the store is opened. */
  readonly mount: { open(): Promise<void>; close(): Promise<void> }
  /** Where it is mounted. */
  readonly trees: readonly string[]
  readonly storage: Storage
}

/** How a delete ended: nobody uses it any more, others do, or the lock server is yet to be asked. */
export interface Deleted {
  readonly status: 'removed' | 'in-use' | 'pending'
  /** The nodes that still use it. */
  readonly usedBy: readonly string[]
}

/** How long a delete is waited for by those who want to know how it ended. */
const DELETE_MS = 5_000
const CLOSE_MS = 500

/** The content store of one node: everything but the way in which containerd speaks to it. */
export class ContentStore {
  readonly config: ContentConfig
  readonly counters: Counters
  readonly uses: Uses
  readonly ingests: Ingests
  readonly pending: Pending
  readonly union: Union
  readonly reachability: Reachability
  readonly readers: Readers
  readonly baton: Baton
  readonly #clock: ClientClock
  readonly #log: (sentence: string) => void
  readonly #mount: ContentStoreOptions['mount']
  readonly #hands = new Hands()
  readonly #coordination: Coordination
  readonly #upkeep: Upkeep
  readonly #writers = new Map<string, Writer>()
  /** Those who want to know how a delete ended. */
  readonly #hearing = new Map<string, (usedBy: readonly string[]) => void>()
  #unlock: () => Promise<void> = async () => {}

  private constructor(options: ContentStoreOptions, loaded: { counters: Counters; uses: Uses; ingests: Ingests }) {
    const { config, clock, baton, log, storage, trees, mount } = options
    const { own, whenUnavailable } = config
    this.config = config
    this.baton = baton
    this.#clock = clock
    this.#log = log
    this.counters = loaded.counters
    this.uses = loaded.uses
    this.ingests = loaded.ingests
    this.#mount = mount
    this.union = new Union({ own, nodes: config.nodes.values(), storage, trees })
    this.readers = new Readers({ clock, storage, locate: (digest) => this.#locate(digest) })
    this.pending = new Pending({ folder: own.pending, clock, tell: (...told) => this.#tell(...told) })
    const onChange = (isAway: boolean) => log(isAway ? 'no lock server answers' : 'a lock server answers again')
    this.reachability = new Reachability(clock, () => baton.status('content'), onChange)
    const onUncoordinated = () => this.counters.uncoordinated()
    const { reachability } = this
    this.#coordination = new Coordination({ baton, reachability, whenUnavailable, log, onUncoordinated })
    const { uses, ingests, pending } = this
    this.#upkeep = new Upkeep({ own, clock, baton, uses, hands: this.#hands, ingests, pending, log })
  }

  /** Makes the node's folders, mounts the union, and goes on where an earlier process ended. */
  static async open(options: ContentStoreOptions): Promise<ContentStore> {
    const { config, clock, log } = options
    const { own } = config
    await takeFormat(own)
    await makeFolders(own)
    const unlock = await lockNode(own)
    try {
      await importBlobs(own, { nowMs: clock.wallMs(), log })
      const store = new ContentStore(options, {
        counters: await Counters.load(join(own.host, '.baton', 'counters.json'), clock),
        uses: await Uses.load(own.uses),
        ingests: await Ingests.load(own.ingests),
      })
      store.#unlock = unlock
      await settleRemoved(own, (hex) => store.uses.get(digestOf(hex)) !== undefined)
      await options.mount.open()
      await store.#start()
      return store
    } catch (error) {
      await options.mount.close()
      await unlock()
      throw error
    }
  }

  /** A blob that this node has, its own or found; nothing of what only others have. */
  info(digest: string): Use | undefined {
    return this.uses.get(digest)
  }

  async openWriter(request: { ref: string; total: number; expected?: string | undefined }): Promise<Writer> {
    const { config, union, uses, ingests, pending, counters } = this
    const world: WriterWorld = {
      own: config.own,
      clock: this.#clock,
      hands: this.#hands,
      coordination: this.#coordination,
      union,
      uses,
      ingests,
      pending,
      counters,
    }
    const writer = await Writer.open(world, request)
    this.#writers.set(request.ref, writer)
    return writer
  }

  /** The writer of an ingest, while it has one. */
  writerOf(ref: string): Writer | undefined {
    const writer = this.#writers.get(ref)
    if (writer?.stage === 'over') this.#writers.delete(ref)
    return writer?.stage === 'over' ? undefined : writer
  }

  /** Throws away what has been written of an ingest. */
  async abort(ref: string): Promise<void> {
    await this.writerOf(ref)?.close('it was aborted')
    const ingest = this.ingests.get(ref)
    if (!ingest) throw new ContentError('not-found', `there is no ingest ${ref}`)
    await this.ingests.remove(ingest)
  }

  /** This node does not use it any more: known at once, told after that. */
  async delete(digest: string): Promise<void> {
    await this.uses.remove(digest)
    this.readers.forget(digest)
    if (this.#hands.has(digest)) this.#hands.owe(digest)
    else await this.pending.add('drop', digest)
  }

  /** The same, for those who want to know how it ended. */
  async deleteAndHear(digest: string): Promise<Deleted> {
    const stop = new AbortController()
    const late = pause(this.#clock, DELETE_MS, stop.signal).then(() => undefined)
    const heard = new Promise<readonly string[]>((resolve) => this.#hearing.set(digest, resolve))
    try {
      await this.delete(digest)
      const usedBy = await Promise.race([heard, late])
      if (usedBy === undefined) return { status: 'pending', usedBy: [] }
      return { status: usedBy.length > 0 ? 'in-use' : 'removed', usedBy }
    } finally {
      stop.abort()
      late.catch(() => {})
      this.#hearing.delete(digest)
    }
  }

  async close(): Promise<void> {
    for (const writer of this.#writers.values()) await writer.close('the content store was stopped')
    this.reachability.close()
    // What is on its way to a lock server that does not answer is not waited for: it is told by the next process.
    const stop = new AbortController()
    const told = Promise.all([this.#upkeep.close(), this.pending.close()])
    await Promise.race([told, pause(this.#clock, CLOSE_MS, stop.signal)]).finally(() => stop.abort())
    this.readers.close()
    await this.counters.close()
    await this.baton.close()
    await this.#mount.close()
    await this.#unlock()
  }

  async #start(): Promise<void> {
    for (const name of await this.union.absentNodes()) {
      this.#log(`the folder of ${name} is not there; it joins the union when it appears`)
    }
    await this.pending.load()
    this.#upkeep.start()
  }

  async #locate(digest: string) {
    const found = this.uses.get(digest) ? await this.union.find(digest) : undefined
    if (found) return found
    throw this.uses.get(digest) ? await this.union.missing(digest) : notHere(digest)
  }

  async #tell(message: Message, digest: string, signal: AbortSignal): Promise<void> {
    const { config } = this
    if (message === 'add') {
      await this.#coordination.add(digest)
      return unmark(config.own, digest)
    }
    const isNeeded = () => this.uses.get(digest) !== undefined || this.#hands.has(digest)
    const remove = async () =>
      isNeeded() ? undefined : removeCopies(digest, { nodes: config.nodes.values(), own: config.own })
    const usedBy = await this.#coordination.drop(digest, remove, signal)
    this.#hearing.get(digest)?.(usedBy)
  }
}

function notHere(digest: string): ContentError {
  const why = isDigest(digest) ? 'this node does not have it' : 'it is no digest; write it like sha256:…'
  return new ContentError('not-found', `${digest}: ${why}`)
}
