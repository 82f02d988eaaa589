import { PermanentError, type VerifyWhen } from '@baton-lock/client'
import { type ClientClock, pause } from '@baton-lock/client/internal'
import { digestInRef } from '../blobs/digest.ts'
import { mark, unmark } from '../blobs/mark.ts'
import type { Union } from '../blobs/union.ts'
import type { Uses } from '../blobs/uses.ts'
import type { Coordination, Pulled, Turn } from '../coordination/coordination.ts'
import type { Pending } from '../coordination/pending.ts'
import type { Counters } from '../counters.ts'
import { ContentError } from '../errors.ts'
import { blobPath, type NodeFolders } from '../node/folders.ts'
import type { Hands } from './blobs-in-hand.ts'
import type { Ingest } from './ingest.ts'
import type { Ingests } from './ingests.ts'
import { Transfer } from './transfer.ts'

/** What a writer works with: the parts of its node's store. */
export interface WriterWorld {
  readonly own: NodeFolders
  readonly clock: ClientClock
  readonly union: Union
  readonly uses: Uses
  readonly ingests: Ingests
  readonly pending: Pending
  readonly hands: Hands
  readonly coordination: Coordination
  readonly counters: Counters
}

/** Storage that is shared may show late what another node has published: so long is waited for it, then it is disbelieved. */
const APPEARS_WITHIN_MS = 5_000
const LOOK_MS = 50
/** A commit does not wait for the lock server for longer than this; it is told all the same. */
const REPORT_MS = 500

/** `waiting`: for its turn. `found`: another node has it, nothing is to be written. */
export type WriterStage = 'opened' | 'waiting' | 'writing' | 'found' | 'over'

/** One blob on its way into this node: it waits for its turn, takes the bytes, and publishes them; or finds them there. */
export class Writer {
  readonly ref: string
  readonly #world: WriterWorld
  readonly #ingest: Ingest
  readonly #isResumed: boolean
  readonly #gaveUp = new AbortController()
  #digest: string | undefined
  #stage: WriterStage = 'opened'
  #size = 0
  #ready: Promise<void> | undefined
  #transfer: Transfer | undefined
  #pulled: Promise<Pulled> | undefined
  #hasInHand = false
  #isTold = true
  #told: Promise<void> | undefined
  #committing: Promise<string> | undefined

  private constructor(world: WriterWorld, ingest: Ingest, expected: string | undefined) {
    this.#world = world
    this.#ingest = ingest
    this.ref = ingest.ref
    this.#isResumed = ingest.offset > 0
    this.#digest = expected || digestInRef(ingest.ref)
  }

  /** Refused while another writer has the same ref. Waits for nobody. */
  static async open(world: WriterWorld, { ref, total, expected }: OpenRequest): Promise<Writer> {
    const ingest = await world.ingests.take({ ref, total, nowMs: world.clock.wallMs() })
    return new Writer(world, ingest, expected)
  }

  get stage(): WriterStage {
    return this.#stage
  }

  get digest(): string | undefined {
    return this.#digest
  }

  get offset(): number {
    return this.#stage === 'found' ? this.#ingest.total || this.#size : this.#ingest.offset
  }

  get total(): number {
    return this.#ingest.total
  }

  get startedAtMs(): number {
    return this.#ingest.startedAtMs
  }

  get updatedAtMs(): number {
    return this.#ingest.updatedAtMs
  }

  /** Resolves when it may be written, or need not be. The one place that waits for other nodes. */
  ready(): Promise<void> {
    this.#ready ??= this.#ask()
    return this.#ready
  }

  /** Returns the offset after it. Without `ready`, nobody was asked. */
  async write(offset: number, data: Uint8Array): Promise<number> {
    if (this.#stage === 'opened') this.#stage = 'writing'
    if (this.#stage !== 'writing') {
      throw new ContentError('out-of-range', `${this.ref} is not to be written: it is ${this.#stage}`)
    }
    const bytes = await this.#ingest.write(offset, data, this.#world.clock.wallMs())
    this.#transfer?.wrote({ bytes, total: this.total })
    return bytes
  }

  /** Publishes what was written, or takes what was found. Returns its digest. */
  commit(request: CommitRequest = {}): Promise<string> {
    this.#committing = this.#commit(request)
    return this.#committing
  }

  async #commit({ total = 0, expected }: CommitRequest): Promise<string> {
    this.#ingest.expect(total)
    const digest =
      this.#stage === 'found' ? await this.#takeFound(expected) : await this.#publish(expected || this.#digest)
    await this.#leave({ isOver: true })
    return digest
  }

  /** Without a commit: the next in line takes over. What has been written stays, for another try. */
  async close(why = 'it was given up'): Promise<void> {
    // A client may go away in the middle of a commit: what is begun there is finished.
    await this.#committing?.catch(() => {})
    if (this.#stage === 'over') return
    const reason = new Error(`${why} on ${this.#world.own.name}`)
    this.#gaveUp.abort(reason)
    this.#transfer?.fail(reason)
    // Who has asked may be counted among the users already, also where it has not heard of it.
    if (this.#stage === 'found' || this.#stage === 'waiting') this.#world.hands.owe(this.#digest!)
    await this.#ready?.catch(() => {})
    await this.#leave({ isOver: false })
  }

  async #ask(): Promise<void> {
    const { clock, pending, hands, coordination } = this.#world
    const digest = this.#digest
    if (digest === undefined || this.#stage !== 'opened') {
      if (this.#stage === 'opened') this.#stage = 'writing'
      return
    }
    this.#stage = 'waiting'
    hands.take(digest)
    this.#hasInHand = true
    // The lock server may count this node among the users still: if nothing comes of this, it is told what it was to be told.
    if (await pending.withdraw(digest)) hands.owe(digest)
    return new Promise((resolve, reject) => {
      const isThere = (when: VerifyWhen) => this.#isThere(digest, when)
      const fetch = async (turn: Turn) => {
        await this.#ingest.prepare()
        this.#transfer = new Transfer(turn, clock)
        this.#stage = 'writing'
        resolve()
        return this.#transfer.outcome
      }
      const keepOwn = () => this.#keepOwn(digest)
      this.#pulled = coordination.pull({ digest, signal: this.#gaveUp.signal, isThere, keepOwn, fetch })
      this.#pulled.then((how) => {
        if (how === 'found' || how === 'kept') this.#stage = 'found'
        this.#isTold = how !== 'kept'
        resolve()
      }, reject)
    })
  }

  async #isThere(digest: string, when: VerifyWhen): Promise<boolean> {
    const { clock, union } = this.#world
    const untilMs = clock.monoMs() + (when === 'skip' ? APPEARS_WITHIN_MS : 0)
    for (;;) {
      const found = await union.find(digest)
      if (found) this.#size = found.size
      if (found || clock.monoMs() >= untilMs) return found !== undefined
      await pause(clock, LOOK_MS, this.#gaveUp.signal)
    }
  }

  /** Marked before it is looked for: whoever removes it at this moment puts it back. */
  async #keepOwn(digest: string): Promise<boolean> {
    const { own, union } = this.#world
    await mark(own, digest)
    const found = await union.findOwn(digest)
    if (found) this.#size = found.size
    else await unmark(own, digest)
    return found !== undefined
  }

  async #takeFound(expected: string | undefined): Promise<string> {
    const { clock, counters, own, pending, uses } = this.#world
    const digest = this.#digest!
    if (expected && expected !== digest) throw wrongDigest(this.ref, { expected, digest })
    if (this.total > 0 && this.total !== this.#size) throw wrongSize(digest, { expected: this.total, size: this.#size })
    await uses.add(digest, { size: this.#size, atMs: clock.wallMs() })
    // Where the lock server knows, a copy of this node's own that was marked is as good as any other.
    await (this.#isTold ? unmark(own, digest) : pending.add('add', digest))
    counters.saved(this.#size)
    await this.#ingest.discard()
    return digest
  }

  async #publish(expected: string | undefined): Promise<string> {
    const { clock, counters, own, uses } = this.#world
    const { offset, total } = this.#ingest
    if (total > 0 && offset !== total) throw wrongSize(this.ref, { expected: total, size: offset })
    const digest = await this.#ingest.seal()
    if (expected && expected !== digest) {
      await this.#ingest.discard()
      const error = wrongDigest(this.ref, { expected, digest })
      this.#transfer?.fail(this.#isWrongForAll(digest) ? new PermanentError(error.message) : error)
      await this.#leave({ isOver: true })
      throw error
    }
    await mark(own, digest)
    await this.#ingest.publish(blobPath(own.host, digest))
    await uses.add(digest, { size: offset, atMs: clock.wallMs() })
    counters.fetched(offset)
    await this.#report(digest, offset)
    return digest
  }

  /** It may be this node's way to the registry that is bad; where another node got the very same, the registry has it so. */
  #isWrongForAll(digest: string): boolean {
    const { node, error } = this.#transfer?.previous ?? {}
    return !this.#isResumed && node !== this.#world.own.name && error?.includes(cameWith(digest)) === true
  }

  /** The success is told, and with it that this node uses the blob; where that is not possible now, later. */
  async #report(digest: string, bytes: number): Promise<void> {
    const { clock, own, pending } = this.#world
    const isReported = this.#transfer?.isOver === false && digest === this.#digest
    this.#transfer?.succeed({ bytes })
    const pulled = isReported ? this.#pulled : undefined
    const told = (pulled ?? Promise.resolve('unknown' as const))
      .catch(() => 'unknown' as const)
      .then((how) => (how === 'unknown' ? pending.add('add', digest) : unmark(own, digest)))
    this.#told = told
    await Promise.race([told, pause(clock, REPORT_MS)])
  }

  async #leave({ isOver }: { readonly isOver: boolean }): Promise<void> {
    if (this.#stage === 'over') return
    const { ingests } = this.#world
    this.#stage = 'over'
    if (!isOver) await this.#ingest.close()
    ingests.give(this.ref, { isOver })
    if (this.#told) void this.#told.then(() => this.#letGo())
    else await this.#letGo()
  }

  /** When the lock server has been told: what is deleted meanwhile is dropped after that, not before. */
  async #letGo(): Promise<void> {
    const { hands, pending, uses } = this.#world
    const digest = this.#digest
    if (!this.#hasInHand || digest === undefined) return
    if (hands.release(digest) && !uses.get(digest)) await pending.add('drop', digest)
  }
}

interface CommitRequest {
  readonly total?: number
  readonly expected?: string | undefined
}

interface OpenRequest {
  readonly ref: string
  readonly total: number
  readonly expected?: string | undefined
}

function wrongDigest(ref: string, { expected, digest }: { expected: string; digest: string }): ContentError {
  return new ContentError('wrong-digest', `${ref}: ${cameWith(digest)}, not ${expected}; it was thrown away`)
}

function cameWith(digest: string): string {
  return `what came has the digest ${digest}`
}

function wrongSize(what: string, { expected, size }: { expected: number; size: number }): ContentError {
  return new ContentError('wrong-size', `${what} has ${size} bytes, not ${expected}`)
}
