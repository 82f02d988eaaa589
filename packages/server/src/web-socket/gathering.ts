import type { Event } from '@baton-lock/core'
import type { GatheredEvent } from '@baton-lock/protocol'
import type { Timers } from '@baton-lock/service'

/** Of the events of one gathering so many are told, the latest; and so many resources are named. */
const EVENTS_TOLD = 50
const CHANGED_NAMED = 500

interface GatheringOptions {
  readonly everyMs: number
  readonly timers: Timers
  readonly tell: (event: GatheredEvent, id: string) => void
}

/**
 * For those who watch a busy server: what happens is told together, at intervals, as the last few events and the names of the
 * resources that have changed. So one who watches costs about the same however much happens: to take note of an event makes no text.
 */
export class Gathering {
  readonly #options: GatheringOptions
  #events: Event[] = []
  #count = 0
  #lastId = ''
  /** By namespace. */
  #changed = new Map<string, Set<string>>()
  #named = 0
  #hasMore = false
  /** Told less than an interval ago: what comes now waits. */
  #cancel: (() => void) | undefined

  constructor(options: GatheringOptions) {
    this.#options = options
  }

  add(event: Event, id: string): void {
    this.#events[this.#count++ % EVENTS_TOLD] = event
    this.#lastId = id
    this.#name(event)
    // The first after a quiet time is told at once.
    this.#cancel ??= this.#tellSoon(0)
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#clear()
  }

  #name({ namespace, resource }: { readonly namespace: string; readonly resource: string }): void {
    const names = this.#changed.get(namespace)
    if (names?.has(resource)) return
    if (this.#named === CHANGED_NAMED) {
      this.#hasMore = true
      return
    }
    this.#named++
    if (names) names.add(resource)
    else this.#changed.set(namespace, new Set([resource]))
  }

  #tellSoon(delayMs: number): () => void {
    return this.#options.timers.after(delayMs, () => {
      if (this.#count === 0) {
        this.#cancel = undefined
        return
      }
      const gathered = this.#gathered()
      this.#clear()
      this.#cancel = this.#tellSoon(this.#options.everyMs)
      this.#options.tell(gathered, this.#lastId)
    })
  }

  #gathered(): GatheredEvent {
    const oldest = this.#count > EVENTS_TOLD ? this.#count % EVENTS_TOLD : 0
    return {
      type: 'gathered',
      events: [...this.#events.slice(oldest), ...this.#events.slice(0, oldest)],
      omitted: Math.max(0, this.#count - EVENTS_TOLD),
      changed: [...this.#changed].flatMap(([namespace, names]) => [...names].map((name) => [namespace, name] as const)),
      more: this.#hasMore,
    }
  }

  #clear(): void {
    this.#events = []
    this.#count = 0
    this.#changed = new Map()
    this.#named = 0
    this.#hasMore = false
  }
}
