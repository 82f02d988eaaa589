import type { ResourceStatus } from '../../client/api.ts'
import { UnavailableError } from '../../client/errors.ts'
import type { WireEvent } from '../../protocol/index.ts'
import { type Address, nameOf, type WatchedResources } from './watched.ts'

/** What is read from. */
interface Source {
  /** What happens. The first one says that the stream is open. */
  events(signal: AbortSignal): AsyncIterable<WireEvent>
  /** All of them. */
  list(): AsyncIterable<ResourceStatus>
  one(address: Address): Promise<ResourceStatus>
}

interface Pacing {
  /** Monotonic. */
  nowMs(): number
  pause(ms: number, signal: AbortSignal): Promise<void>
}

interface ReaderOptions {
  readonly source: Source
  readonly resources: WatchedResources
  /** Whether one that is like this is watched at all. */
  readonly isWatched: (status: ResourceStatus) => boolean
  /** The names of those that somebody sees. */
  readonly visible: () => readonly string[]
  readonly pacing: Pacing
  /** Called after everything that was read. */
  readonly onRead: (status: ResourceStatus | undefined) => void
  /** Nobody answers; once more with every try. */
  readonly onAway: (error: Error) => void
}

/** At least so long between two rounds. */
const BEAT_MS = 250
/** So many are read in a round; where more have changed, those that nobody sees are listed in time. */
const ROUND = 32
/** Leases are renewed without a word: what is seen is read again after so long. */
const STALE_MS = 5_000
/** Of all the time, listing everything takes no more than one part of so many, and there is so much between two lists. */
const LIST_SHARE = 10
const LIST_PAUSE_MS = 1_000

/**
 * Reads what has changed, and does so gently: events only say what to read. What somebody sees is read within moments; when
 * more changes than that, everything is listed anew, but never for more than a tenth of the time.
 */
export class ResourceReader {
  readonly #options: ReaderOptions
  readonly #changed = new Map<string, Address>()
  #mustList = false
  #listAgainAtMs = 0
  #isRead = false

  constructor(options: ReaderOptions) {
    this.#options = options
  }

  /** Whether everything was read once. */
  get isRead(): boolean {
    return this.#isRead
  }

  /** Another choice of what is watched. */
  listAgain(): void {
    this.#mustList = true
    this.#listAgainAtMs = 0
  }

  /** Until the signal, or until Baton does not want to be read. */
  async run(signal: AbortSignal): Promise<void> {
    const failed = new AbortController()
    const stop = AbortSignal.any([signal, failed.signal])
    const fail = (error: unknown) => failed.abort(error)
    // A list takes its time, and what is seen stays fresh meanwhile.
    const loops = [
      this.#hear(stop),
      this.#again(() => this.#list(), stop),
      this.#again(() => this.#readChanged(), stop),
    ]
    await Promise.all(loops.map((loop) => loop.catch(fail)))
    if (!signal.aborted) throw failed.signal.reason
  }

  async #again(read: () => Promise<void>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await read().catch((error) => {
        if (!(error instanceof UnavailableError)) throw error
        this.#options.onAway(error)
      })
      await this.#options.pacing.pause(BEAT_MS, signal)
    }
  }

  async #hear(signal: AbortSignal): Promise<void> {
    for await (const event of this.#options.source.events(signal)) {
      if ('resource' in event) this.#changed.set(nameOf(event), event)
      else this.#mustList = true
    }
    if (!signal.aborted) throw new UnavailableError('the stream of events has ended')
  }

  async #readChanged(): Promise<void> {
    for (const address of this.#next()) {
      this.#changed.delete(nameOf(address))
      this.#put(await this.#options.source.one(address).catch((error) => this.#missed(address, error)))
    }
  }

  /** It is to be read again. */
  #missed(address: Address, error: unknown): never {
    this.#changed.set(nameOf(address), address)
    throw error
  }

  /** Where it is time for it. */
  async #list(): Promise<void> {
    const { source, resources, pacing, visible } = this.#options
    const beganAtMs = pacing.nowMs()
    const isWanted = this.#mustList || this.#changed.size > ROUND
    if (!isWanted || beganAtMs < this.#listAgainAtMs) return
    // What changes from here on is read after this, whatever the list says of it.
    const seen = new Set(visible())
    for (const name of this.#changed.keys()) if (!seen.has(name)) this.#changed.delete(name)
    this.#mustList = false
    try {
      for await (const status of source.list()) this.#put(status)
    } catch (error) {
      this.#mustList = true
      throw error
    }
    resources.dropUnread(beganAtMs)
    this.#isRead = true
    const tookMs = pacing.nowMs() - beganAtMs
    this.#listAgainAtMs = pacing.nowMs() + Math.max(LIST_PAUSE_MS, (LIST_SHARE - 1) * tookMs)
    this.#options.onRead(undefined)
  }

  /** Those that are to be read one by one: the visible ones first. */
  #next(): Address[] {
    const { resources, visible, pacing } = this.#options
    const nowMs = pacing.nowMs()
    const next = new Map<string, Address>()
    for (const name of visible()) {
      const watched = resources.get(name)
      const isStale = watched !== undefined && nowMs - watched.readAtMs >= STALE_MS
      const address = this.#changed.get(name) ?? (isStale ? watched.status : undefined)
      if (address) next.set(name, address)
    }
    // Where much has changed, a list is cheaper than one after another.
    if (this.#changed.size <= ROUND) for (const [name, address] of this.#changed) next.set(name, address)
    return [...next.values()].slice(0, ROUND)
  }

  #put(status: ResourceStatus): void {
    const { resources, isWatched, pacing, onRead } = this.#options
    if (isWatched(status)) resources.put(status, pacing.nowMs())
    else resources.remove(nameOf(status))
    onRead(status)
  }
}
