import type { Event } from '@baton-lock/core'
import type { GatheredEvent } from '@baton-lock/protocol'
import { signal } from '@preact/signals'

/** One line of the feed. */
export interface FeedItem {
  readonly number: number
  readonly event: Event
  /** So many came before it that are not shown. */
  readonly omitted: number
  /** So many of the same kind came right before it: they are told with it. */
  readonly alike: number
}

/** These come in crowds, and the last one says as much as all of them. */
const CROWDS: ReadonlySet<string> = new Set(['referenced', 'dereferenced', 'queued', 'left', 'progress'])

const KEPT = 400

/** The last events, newest first. It can be paused: what comes meanwhile is shown when it goes on. */
export class Feed {
  readonly items = signal<readonly FeedItem[]>([])
  readonly isPaused = signal(false)
  /** So many have come while it was paused. */
  readonly waiting = signal(0)
  #behind: FeedItem[] = []
  #number = 0

  add({ events, omitted }: GatheredEvent): void {
    const items: FeedItem[] = []
    for (const event of events) {
      const before = items.at(-1)
      const isAlike = before !== undefined && isCrowd(before.event, event)
      if (isAlike) items.pop()
      items.push({
        number: ++this.#number,
        event,
        omitted: isAlike ? before.omitted : items.length === 0 ? omitted : 0,
        alike: isAlike ? before.alike + 1 : 0,
      })
    }
    if (this.isPaused.value) {
      this.#behind = [...this.#behind, ...items].slice(-KEPT)
      this.waiting.value += items.length + omitted
    } else this.#show(items)
  }

  pause(isPaused: boolean): void {
    this.isPaused.value = isPaused
    if (isPaused) return
    this.#show(this.#behind)
    this.#behind = []
    this.waiting.value = 0
  }

  clear(): void {
    this.items.value = []
    this.#behind = []
    this.waiting.value = 0
  }

  #show(items: readonly FeedItem[]): void {
    if (items.length > 0) this.items.value = [...items.toReversed(), ...this.items.value].slice(0, KEPT)
  }
}

function isCrowd(one: Event, other: Event): boolean {
  if (one.type !== other.type || !CROWDS.has(one.type)) return false
  return one.resource === other.resource && one.namespace === other.namespace
}
