import type { WaiterView } from '@baton-lock/core'
import type { PastGrant } from '@baton-lock/protocol'
import { signal } from '@preact/signals'
import { type Address, nameOf, type ResourceName } from '../name.ts'
import type { ServerClock } from '../server-clock.ts'
import { Disconnected, type Stream } from '../stream.ts'
import type { Row } from './why.ts'

/** All that is shown of one resource. */
export interface DetailView {
  readonly address: Address
  /** Nothing before it was read for the first time. */
  readonly row?: Row
  readonly grants: readonly PastGrant[]
  /** Those who wait, from the first one on: as far as they were read. */
  readonly waiters: readonly WaiterView[]
  readonly problem?: string
}

/** Of a long queue this many are read with the resource itself; the others when they are looked for. */
export const QUEUE_PAGE = 100
const WHOLE_PAGE = 1_000
/** Renewals are no events. */
const STALE_MS = 2_000
/** A long queue is not read whole again sooner than this. */
const WHOLE_STALE_MS = 5_000

/** Reads one resource again as it changes. */
export class Detail {
  readonly view = signal<DetailView | undefined>(undefined)
  readonly #stream: Stream
  readonly #clock: ServerClock
  #name: ResourceName | undefined
  #isChanged = false
  #isReading = false
  #wantsWhole = false
  #wholeAtMs = 0

  constructor(stream: Stream, clock: ServerClock) {
    this.#stream = stream
    this.#clock = clock
  }

  /** Shows this one from now on; nothing where none is shown. */
  show(address: Address | undefined): void {
    const name = address && nameOf(address)
    if (name === this.#name) return
    this.#name = name
    this.#wantsWhole = false
    this.#isChanged = true
    this.view.value = address && {
      address: { namespace: address.namespace, resource: address.resource },
      grants: [],
      waiters: [],
    }
    void this.beat()
  }

  /** Whether those who wait are wanted beyond the first page. */
  set wantsWhole(wants: boolean) {
    if (wants === this.#wantsWhole) return
    this.#wantsWhole = wants
    this.#wholeAtMs = 0
    this.#isChanged = true
    void this.beat()
  }

  changed(name: ResourceName): void {
    if (name === this.#name) this.#isChanged = true
  }

  touch(): void {
    this.#isChanged = true
  }

  async beat(): Promise<void> {
    const now = this.view.value
    if (!now || this.#isReading || this.#stream.contact.value.state !== 'live') return
    const isStale = !now.row || this.#clock.nowMs() - now.row.readAtMs > STALE_MS
    if (!this.#isChanged && !isStale) return
    this.#isChanged = false
    this.#isReading = true
    try {
      const next = await this.#read(now)
      if (this.view.value?.address === now.address) this.view.value = next
    } catch (error) {
      if (!(error instanceof Disconnected)) throw error
      this.#isChanged = true
    } finally {
      this.#isReading = false
    }
    // Another one was asked for meanwhile.
    if (this.view.value && !this.view.value.row) await this.beat()
  }

  async #read(now: DetailView): Promise<DetailView> {
    const { address } = now
    const [resource, timeline] = await Promise.all([
      this.#stream.request({ type: 'get-resource', ...address, waiters: QUEUE_PAGE }),
      this.#stream.request({ type: 'get-timeline', ...address }),
    ])
    const grants = timeline.status === 'timeline' ? timeline.grants : now.grants
    if (resource.status !== 'resource') return { ...now, grants, problem: resource.message }
    this.#clock.set(resource.nowMs)
    const row = { view: resource.resource, readAtMs: resource.nowMs }
    return { address, row, grants, waiters: await this.#waiters(now, row) }
  }

  async #waiters({ address, waiters }: DetailView, { view, readAtMs }: Row): Promise<readonly WaiterView[]> {
    if (!this.#wantsWhole || view.waiting <= view.waiters.length) return view.waiters
    if (readAtMs - this.#wholeAtMs < WHOLE_STALE_MS) return waiters
    this.#wholeAtMs = readAtMs
    const all: WaiterView[] = []
    let after: number | undefined
    do {
      const page = await this.#stream.request({ type: 'list-waiters', ...address, after, limit: WHOLE_PAGE })
      if (page.status !== 'waiters') break
      all.push(...page.waiters)
      after = page.next
    } while (after !== undefined)
    return all
  }
}
