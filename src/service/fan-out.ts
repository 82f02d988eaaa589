import {
  type Asker,
  type Concern,
  concernsOf,
  type Facts,
  type HeardAsker,
  mayActFor,
  SHARED_HOLD,
} from '../core/index.ts'
import type { WireEvent } from '../protocol/index.ts'
import type { StoreEvent } from '../stores/store.ts'
import type { CatchUp, Sink } from './catch-up.ts'

/** What a listener wants to hear. */
export type Scope =
  /** All that concerns the places of one session. `newsOnly`: but for what its own requests have been answered. */
  | { readonly of: 'session'; readonly session: string; readonly newsOnly?: boolean }
  /** All that concerns one actor on one key; keeps its place in line alive while it listens, if it may. */
  | {
      readonly of: 'ask'
      readonly namespace: string
      readonly resource: string
      readonly operation: string
      /** Absent: whichever node it is of. */
      readonly node?: string | undefined
      readonly owner: string
      readonly hold: string
    }
  | { readonly of: 'resource'; readonly namespace: string; readonly resource: string }
  | { readonly of: 'all' }

export interface Listener extends Facts {
  readonly scope: Scope
  readonly sink: Sink
  /** Where some may have been missed, it tells so. */
  readonly catchUp: Pick<CatchUp, 'hold' | 'tellAnew'>
  /** False: what is told here may be dropped, and asked for again. */
  readonly hears?: boolean | undefined
}

type Listeners = Set<Listener>

/**
 * Who listens to what. An event looks up those whom it concerns, however many others there are, and is made ready to be told
 * only where there are any.
 */
export class FanOut {
  readonly #all: Listeners = new Set()
  /** By session, resource id, and owner: whoever shares one of these with others is told apart when it comes to it. */
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

  /** Everybody who listens at this moment. */
  all(): Listener[] {
    const some = [this.#bySession, this.#byOwner, this.#byResource].flatMap((map) => [...map.values()])
    return [...some, this.#all].flatMap((listeners) => [...listeners])
  }

  /** Returns those who share a hold id with others and have heard their final answer now. */
  send(event: StoreEvent, idOf: () => string): readonly HeardAsker[] {
    if (this.#all.size > 0 || this.#byResource.size > 0) this.#show(event, idOf)
    if (this.#bySession.size === 0 && this.#byOwner.size === 0) return NOBODY
    if (event.type === 'told') return this.#sendTold(event, idOf)
    if (event.type === 'ended') this.#tell(event, event, idOf)
    else if ('asker' in event) {
      const { asker } = event
      if (this.#byOwner.has(asker.owner) || this.#bySession.has(asker.session ?? ''))
        for (const concern of concernsOf(event)) this.#tell(event, concern, idOf)
    } else for (const concern of concernsOf(event)) this.#tell(event, concern, idOf)
    return NOBODY
  }

  /** To those who only watch. */
  #show(event: StoreEvent, idOf: () => string): void {
    const near = this.#byResource.get(event.resource)
    if (this.#all.size === 0 && !near) return
    const observed = observe(event)
    if (!observed) return
    const id = idOf()
    for (const { sink } of this.#all) sink(observed, id)
    for (const { sink, scope } of near ?? [])
      if (scope.of === 'resource' && scope.namespace === event.namespace) sink(observed, id)
  }

  #sendTold(event: Extract<StoreEvent, { type: 'told' }>, idOf: () => string): HeardAsker[] {
    const heard: HeardAsker[] = []
    for (const [index, concern] of concernsOf(event).entries()) {
      const told = this.#tell(event, concern, idOf)
      if (event.askers[index]!.hold !== SHARED_HOLD || !('fence' in event.answer)) continue
      const { operation, node, owner } = concern
      const { fence } = event.answer
      if (told.some((listener) => hasHeard(listener, concern))) heard.push({ operation, node, owner, fence })
    }
    return heard
  }

  /** Tells one whom it concerns, on every stream that names it. */
  #tell(event: StoreEvent, concern: Concern, idOf: () => string): Listener[] {
    const told: Listener[] = []
    for (const listener of this.#byOwner.get(concern.owner) ?? [])
      if (isAskedBy(listener.scope, event, concern)) told.push(listener)
    for (const session of concern.sessions)
      for (const listener of this.#bySession.get(session) ?? []) if (isNews(listener.scope, event)) told.push(listener)
    if (told.length > 0) {
      const wire = wireFor(event, concern)
      const id = idOf()
      for (const { sink } of told) sink(wire, id)
    }
    return told
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

const NOBODY: readonly HeardAsker[] = []

function isAskedBy(scope: Scope, event: StoreEvent, { operation, node, owner }: Concern): boolean {
  if (scope.of !== 'ask' || scope.namespace !== event.namespace || scope.resource !== event.resource) return false
  return scope.operation === operation && scope.owner === owner && (scope.node ?? node) === node
}

/** What the requests of a session are answered, it need not be told: that it is queued, granted at once, or done. */
function isNews(scope: Scope, event: StoreEvent): boolean {
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

/** Whether an asker has heard its answer by what this listener was told. Somebody who only looks on hears it for nobody. */
export function hasHeard(
  { scope, hears = true, actsFor }: Listener,
  { node }: { readonly node?: string | undefined },
): boolean {
  return hears && (scope.of === 'session' || node === undefined || mayActFor({ actsFor }, node))
}

/** The events of the past that a listener would have heard. Cheap where it is none: thousands may come back at once. */
export function heard(scope: Scope, event: StoreEvent): WireEvent[] {
  if (scope.of === 'all') return observed(event)
  if (scope.of === 'session')
    return isNews(scope, event) ? heardBy(event, ({ sessions }) => sessions.includes(scope.session)) : []
  if (scope.namespace !== event.namespace || scope.resource !== event.resource) return []
  return scope.of === 'resource' ? observed(event) : heardBy(event, (concern) => isAskedBy(scope, event, concern))
}

function heardBy(event: StoreEvent, isListener: (concern: Concern) => boolean): WireEvent[] {
  return concernsOf(event)
    .filter(isListener)
    .map((concern) => wireFor(event, concern))
}

function observed(event: StoreEvent): WireEvent[] {
  const wire = observe(event)
  return wire ? [wire] : []
}

const ASKERS_NAMED = 1_000

/** How an event looks to those who only watch; nothing where it is said to others alone. */
function observe(event: StoreEvent): WireEvent | undefined {
  const { namespace, resource, atMs } = event
  const where = { namespace, resource, atMs }
  switch (event.type) {
    case 'queued':
      return { type: 'queued', ...where, ...by(event), position: event.position, ...revisionOf(event) }
    case 'granted':
      return {
        type: 'granted',
        ...where,
        ...by(event),
        fence: event.fence,
        attempt: event.attempt,
        handOver: event.handOver,
        ...revisionOf(event),
      }
    case 'claimed':
    case 'hold-ended':
      return { type: event.type, ...where, ...by(event), fence: event.fence }
    case 'left':
      return { type: 'left', ...where, ...by(event) }
    case 'told': {
      const { operation, answer, askers } = event
      const named = askers.slice(0, ASKERS_NAMED).map(({ node, owner }) => ({ node, owner }))
      return { type: 'told', ...where, operation, answer, count: askers.length, askers: named }
    }
    case 'ended': {
      const { operation, node, owner, fence, attempt, outcome, skips } = event
      const more = { ...revisionOf(event), ...(skips && { skips }) }
      return { type: 'ended', ...where, operation, node, owner, fence, attempt, ...outcome, ...more }
    }
    case 'progress': {
      const { operation, node, owner, fence, progress } = event
      return { type: 'progress', ...where, operation, node, owner, fence, progress }
    }
    case 'progress-told':
      return undefined
    case 'referenced':
    case 'dereferenced':
      return { type: event.type, ...where, node: event.node }
  }
}

/** How an event looks to one whom it concerns. */
function wireFor(event: StoreEvent, { operation, node, owner }: Concern): WireEvent {
  const { namespace, resource, atMs } = event
  const own = { namespace, resource, atMs, operation, node, owner }
  if (event.type === 'told') return { type: 'told', ...own, answer: event.answer }
  if (event.type === 'progress-told') {
    const { fence, progress } = event
    return { type: 'progress', ...own, by: event.node, fence, progress }
  }
  return observe(event)!
}

function by({ operation, asker }: { operation: string; asker: Asker }): {
  operation: string
  node: string
  owner: string
} {
  return { operation, node: asker.node, owner: asker.owner }
}

function revisionOf({ revision }: { revision?: string }): { revision?: string } {
  return revision === undefined ? {} : { revision }
}
