import {
  type AddressedEvent,
  type Event,
  type Facts,
  type HeardAsker,
  mayActFor,
  type Recipient,
  SHARED_HOLD,
} from '@baton-lock/core'
import type { CatchUp, Sink } from './catch-up.ts'

/** What a listener wants to hear. */
export type Scope =
  /** All events for one session. `newsOnly`: except those that its own requests were answered with. */
  | { readonly of: 'session'; readonly session: string; readonly newsOnly?: boolean }
  /** All events for one actor on one key. Keeps its place in line alive if the listener may act for it. */
  | {
      readonly of: 'ask'
      readonly namespace: string
      readonly resource: string
      readonly operation: string
      /** Absent: any node. */
      readonly node?: string | undefined
      readonly owner: string
      readonly hold: string
    }
  | { readonly of: 'resource'; readonly namespace: string; readonly resource: string }
  | { readonly of: 'all' }

export interface Listener extends Facts {
  readonly scope: Scope
  readonly sink: Sink
  /** Called if events may have been missed. */
  readonly catchUp: Pick<CatchUp, 'hold' | 'tellAnew'>
  /** False: the listener may drop what it hears, and ask again. */
  readonly hears?: boolean | undefined
}

type Listeners = Set<Listener>

/** How many recipients of a `told` are named to observers. */
const ASKERS_NAMED = 1_000

/** Delivers events. An event costs a lookup for each recipient, however many others listen. */
export class FanOut {
  readonly #all: Listeners = new Set()
  /** By session, resource id, and owner. Listeners that share a key are told apart at delivery. */
  readonly #bySession = new Map<string, Listeners>()
  readonly #byResource = new Map<string, Listeners>()
  readonly #byOwner = new Map<string, Listeners>()

  add(listener: Listener): () => void {
    const [map, name] = this.#placeOf(listener.scope)
    if (!map) {
      this.#all.add(listener)
      return () => this.#all.delete(listener)
    }
    const listeners = map.get(name) ?? new Set()
    map.set(name, listeners.add(listener))
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && map.get(name) === listeners) map.delete(name)
    }
  }

  /** All present listeners. */
  all(): Listener[] {
    const some = [this.#bySession, this.#byOwner, this.#byResource].flatMap((map) => [...map.values()])
    return [...some, this.#all].flatMap((listeners) => [...listeners])
  }

  /** Returns the recipients with a shared hold id that have received their final answer now. */
  send(addressed: AddressedEvent, idOf: () => string): readonly HeardAsker[] {
    this.#show(addressed, idOf)
    const heard: HeardAsker[] = []
    if (this.#bySession.size === 0 && this.#byOwner.size === 0) return heard
    const { event, to } = addressed
    for (const recipient of to) {
      const told = this.#listenersOf(event, recipient)
      if (told.length === 0) continue
      const sent = toldTo(event, [recipient])
      const id = idOf()
      for (const { sink } of told) sink(sent, id)
      if (event.type !== 'told' || recipient.hold !== SHARED_HOLD || !('fence' in event.answer)) continue
      const { operation, node, owner } = recipient
      const { fence } = event.answer
      if (told.some((listener) => hasHeard(listener, recipient))) heard.push({ operation, node, owner, fence })
    }
    return heard
  }

  /** Delivers to observers. */
  #show({ event, to }: AddressedEvent, idOf: () => string): void {
    const near = this.#byResource.get(event.resource)
    if (this.#all.size === 0 && !near) return
    const shown = shownOf(event, to)
    const id = idOf()
    for (const { sink } of this.#all) sink(shown, id)
    for (const { sink, scope } of near ?? []) if (isOfResource(scope, event)) sink(shown, id)
  }

  /** All streams of one recipient. */
  #listenersOf(event: Event, recipient: Recipient): readonly Listener[] {
    const found: Listener[] = []
    for (const listener of this.#byOwner.get(recipient.owner) ?? NOBODY)
      if (isAskedBy(listener.scope, event, recipient)) found.push(listener)
    for (const session of recipient.sessions)
      for (const listener of this.#bySession.get(session) ?? NOBODY)
        if (isNews(listener.scope, event)) found.push(listener)
    return found
  }

  #placeOf(scope: Scope): [map: Map<string, Listeners> | undefined, name: string] {
    switch (scope.of) {
      case 'session':
        return [this.#bySession, scope.session]
      case 'ask':
        return [this.#byOwner, scope.owner]
      case 'resource':
        return [this.#byResource, scope.resource]
      case 'all':
        return [undefined, '']
    }
  }
}

const NOBODY: readonly Listener[] = []

function isOfResource(scope: Scope, { namespace, resource }: Event): boolean {
  return scope.of === 'resource' && scope.namespace === namespace && scope.resource === resource
}

function isAskedBy(scope: Scope, event: Event, { operation, node, owner }: Recipient): boolean {
  if (scope.of !== 'ask' || scope.namespace !== event.namespace || scope.resource !== event.resource) return false
  return scope.operation === operation && scope.owner === owner && (scope.node ?? node) === node
}

/** The replies to a session's own requests already say that it is queued, granted at once, or done. */
function isNews(scope: Scope, event: Event): boolean {
  if (scope.of !== 'session' || !scope.newsOnly) return true
  switch (event.type) {
    case 'queued':
    case 'claimed':
    case 'hold-ended':
      return false
    case 'granted':
      return event.handOver
    case 'ended':
      return event.outcome.outcome === 'expired' || event.outcome.outcome === 'revoked'
    default:
      return true
  }
}

/**
 * Whether a recipient has received its answer through this listener. An observer without the right to act for it does
 * not count.
 */
export function hasHeard(
  { scope, hears = true, actsFor }: Listener,
  { node }: { readonly node?: string | undefined },
): boolean {
  return hears && (scope.of === 'session' || node === undefined || mayActFor({ actsFor }, node))
}

/** A past event as this listener would have received it: once for each of its own places. */
export function heard(scope: Scope, { event, to }: AddressedEvent): readonly Event[] {
  switch (scope.of) {
    case 'all':
      return [shownOf(event, to)]
    case 'resource':
      return isOfResource(scope, event) ? [shownOf(event, to)] : []
    case 'ask':
      return to.filter((each) => isAskedBy(scope, event, each)).map((each) => toldTo(event, [each]))
    case 'session':
      if (!isNews(scope, event)) return []
      return to.filter(({ sessions }) => sessions.includes(scope.session)).map((each) => toldTo(event, [each]))
  }
}

/** Observers learn who got an answer, but not who waits and hears of progress. */
function shownOf(event: Event, to: readonly Recipient[]): Event {
  return event.type === 'told' ? toldTo(event, to.slice(0, ASKERS_NAMED)) : event
}

/**
 * `told` and `progress` may have many recipients, so each is told which place is its own. All other events name their
 * recipient.
 */
function toldTo(event: Event, to: readonly Recipient[]): Event {
  if (event.type !== 'told' && event.type !== 'progress') return event
  return { ...event, askers: to.map(({ operation, node, owner }) => ({ operation, node, owner })) }
}
