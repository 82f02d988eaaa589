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
  /** All that concerns the places of one session. */
  | { readonly of: 'session'; readonly session: string }
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

/** Who listens to what. An event looks up those whom it concerns, however many others there are. */
export class FanOut {
  readonly #listeners = new Map<string, Set<Listener>>()

  add(listener: Listener): () => void {
    const name = nameOf(listener.scope)
    const listeners = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, listeners.add(listener))
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && this.#listeners.get(name) === listeners) this.#listeners.delete(name)
    }
  }

  /** Everybody who listens at this moment. */
  all(): Listener[] {
    return [...this.#listeners.values()].flatMap((listeners) => [...listeners])
  }

  /** Returns those who share a hold id with others and have heard their final answer now. */
  send(event: StoreEvent, id: string): HeardAsker[] {
    const observed = observe(event)
    if (observed) {
      this.#emit({ of: 'all' }, observed, id)
      this.#emit({ of: 'resource', namespace: event.namespace, resource: event.resource }, observed, id)
    }
    const heard: HeardAsker[] = []
    for (const [index, concern] of concernsOf(event).entries()) {
      const told = this.#tell(event, concern, id)
      if (event.type !== 'told' || event.askers[index]!.hold !== SHARED_HOLD || !('fence' in event.answer)) continue
      const { operation, node, owner } = concern
      const { fence } = event.answer
      if (told.some((listener) => hasHeard(listener, concern))) heard.push({ operation, node, owner, fence })
    }
    return heard
  }

  /** Tells one whom it concerns, on every stream that names it. */
  #tell(event: StoreEvent, concern: Concern, id: string): Listener[] {
    const { namespace, resource } = event
    const wire = wireFor(event, concern)
    const ask = { of: 'ask', namespace, resource, ...concern, hold: '' } as const
    const told = this.#emit(
      ask,
      wire,
      id,
      ({ scope }) => scope.of === 'ask' && (scope.node ?? concern.node) === concern.node,
    )
    for (const session of concern.sessions) told.push(...this.#emit({ of: 'session', session }, wire, id))
    return told
  }

  #emit(scope: Scope, event: WireEvent, id: string, isMeant: (listener: Listener) => boolean = () => true): Listener[] {
    const told: Listener[] = []
    for (const listener of this.#listeners.get(nameOf(scope)) ?? []) {
      if (!isMeant(listener)) continue
      listener.sink(event, id)
      told.push(listener)
    }
    return told
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
  if (scope.of === 'session') return heardBy(event, ({ sessions }) => sessions.includes(scope.session))
  if (scope.namespace !== event.namespace || scope.resource !== event.resource) return []
  if (scope.of === 'resource') return observed(event)
  return heardBy(
    event,
    ({ operation, owner, node }) =>
      operation === scope.operation && owner === scope.owner && (scope.node ?? node) === node,
  )
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

function nameOf(scope: Scope): string {
  switch (scope.of) {
    case 'session':
      return `session ${scope.session}`
    case 'ask':
      return JSON.stringify([scope.namespace, scope.resource, scope.operation, scope.owner])
    case 'resource':
      return JSON.stringify([scope.namespace, scope.resource])
    case 'all':
      return 'all'
  }
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
