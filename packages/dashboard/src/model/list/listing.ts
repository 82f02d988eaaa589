import type { ReplyOf, RequestInput } from '@baton-lock/protocol'
import { signal } from '@preact/signals'
import type { ServerClock } from '../server-clock.ts'
import { Disconnected } from '../stream.ts'
import type { PageTimers } from '../timers.ts'
import type { Rows } from './rows.ts'

type ListInput = Extract<RequestInput, { type: 'list-resources' }>

interface ListingOptions {
  readonly rows: Rows
  readonly clock: ServerClock
  readonly timers: PageTimers
  readonly request: (input: ListInput) => Promise<ReplyOf<'list-resources'>>
}

/** How much of all that there is has been read. */
interface Loading {
  readonly state: 'reading' | 'all' | 'some' | 'failed'
  readonly why?: string
}

/** What narrows a list down at the server. */
type ListScope = Pick<ListInput, 'namespace' | 'prefix' | 'node'>

/** A page of the browser keeps no more than so many: of a larger store it shows a part, and asks the server for what is searched. */
export const ROWS_MAX = 20_000
/** First those who hold or wait, as far as so many: they are what is looked for. */
const ACTIVE_FIRST = 1_000
const PAGE = 1_000
/** Others have their turn between two pages: for so long at least, and for so many times as long as the page took. */
const PAUSE = { leastMs: 40, times: 2 }

/** Reads the list of resources, gently, a page at a time. */
export class Listing {
  readonly loading = signal<Loading>({ state: 'reading' })
  readonly #options: ListingOptions
  #round = 0

  constructor(options: ListingOptions) {
    this.#options = options
  }

  /** All there is, as far as the page takes it. Another call ends this one. */
  async read(scope: ListScope = {}): Promise<void> {
    const { rows, clock } = this.#options
    const round = ++this.#round
    const startMs = clock.isKnown ? clock.nowMs() : 0
    if (rows.size === 0) this.loading.value = { state: 'reading' }
    try {
      await this.#pages({ ...scope, active: true }, { round, limit: ACTIVE_FIRST })
      const isWhole = await this.#pages(scope, { round, limit: ROWS_MAX })
      if (round !== this.#round) return
      // What was not in the list is gone.
      if (isWhole && scope.prefix === undefined && scope.node === undefined) rows.dropBefore(startMs)
      this.loading.value = { state: isWhole ? 'all' : 'some' }
    } catch (error) {
      if (round !== this.#round || error instanceof Disconnected) return
      this.loading.value = { state: 'failed', why: (error as Error).message }
    }
  }

  /** What a search finds beyond what was read, added to it. */
  async search(scope: ListScope): Promise<void> {
    await this.#pages(scope, { round: this.#round, limit: PAGE }).catch(() => {})
  }

  stop(): void {
    this.#round++
  }

  /** Whether it came to the end of the list. */
  async #pages(query: Omit<ListInput, 'type'>, { round, limit }: { round: number; limit: number }): Promise<boolean> {
    const { rows, clock, timers, request } = this.#options
    let after: string | undefined
    let count = 0
    do {
      const askedMs = timers.monoMs()
      const reply = await request({ type: 'list-resources', ...query, waiters: 1, limit: PAGE, after })
      if (round !== this.#round) return false
      if (reply.status === 'refused') throw new Error(reply.message)
      clock.set(reply.nowMs)
      rows.put(reply.resources, reply.nowMs)
      count += reply.resources.length
      after = reply.next
      const pauseMs = Math.max(PAUSE.leastMs, PAUSE.times * (timers.monoMs() - askedMs))
      if (after !== undefined) await new Promise<void>((resolve) => timers.after(pauseMs, resolve))
    } while (after !== undefined && count < limit && round === this.#round)
    return after === undefined
  }
}
