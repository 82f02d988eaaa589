import type { Asker } from '../core/index.ts'
import type { WireEvent } from '../protocol/index.ts'
import type { StoreEvent } from '../stores/store.ts'

/** What a listener wants to hear. */
export type Scope =
  /** All that concerns the places of one session. */
  | { readonly of: 'session'; readonly session: string }
  /** All that concerns one owner on one key; keeps its place in line alive while it listens. */
  | {
      readonly of: 'ask'
      readonly namespace: string
      readonly resource: string
      readonly operation: string
      readonly owner: string
      readonly hold: string
    }
  | { readonly of: 'resource'; readonly namespace: string; readonly resource: string }
  | { readonly of: 'all' }

export type Sink = (event: WireEvent, id: string) => void

/** Who listens to what. An event looks up those whom it concerns, however many others there are. */
export class FanOut {
  readonly #sinks = new Map<string, Map<Sink, Scope>>()

  add(scope: Scope, sink: Sink): () => void {
    const name = nameOf(scope)
    const sinks = this.#sinks.get(name) ?? new Map()
    this.#sinks.set(name, sinks.set(sink, scope))
    return () => {
      sinks.delete(sink)
      if (sinks.size === 0 && this.#sinks.get(name) === sinks) this.#sinks.delete(name)
    }
  }

  /** Everybody who listens at this moment. */
  all(): [Scope, Sink][] {
    return [...this.#sinks.values()].flatMap((sinks) => [...sinks].map(([sink, scope]): [Scope, Sink] => [scope, sink]))
  }

  send(event: StoreEvent, id: string): void {
    const observed = observe(event)
    this.#emit({ of: 'all' }, observed, id)
    this.#emit({ of: 'resource', namespace: event.namespace, resource: event.resource }, observed, id)
    for (const { asker, wire } of concerned(event, observed)) {
      const scope = { of: 'ask', ...event, operation: wire.operation, owner: asker.owner, hold: '' } as const
      this.#emit(scope, wire, id)
      for (const session of asker.sessions) this.#emit({ of: 'session', session }, wire, id)
    }
  }

  #emit(scope: Scope, event: WireEvent, id: string): void {
    for (const sink of this.#sinks.get(nameOf(scope))?.keys() ?? []) sink(event, id)
  }
}

/** The events of the past that a listener would have heard. Cheap where it is none: thousands may come back at once. */
export function heard(scope: Scope, event: StoreEvent): WireEvent[] {
  if (scope.of === 'all') return [observe(event)]
  if (scope.of === 'session') return heardBy(event, ({ sessions }) => sessions.includes(scope.session))
  if (scope.namespace !== event.namespace || scope.resource !== event.resource) return []
  if (scope.of === 'resource') return [observe(event)]
  const isOfKey = 'operation' in event && event.operation === scope.operation
  return isOfKey ? heardBy(event, ({ owner }) => owner === scope.owner) : []
}

function heardBy(event: StoreEvent, isListener: (asker: Concern['asker']) => boolean): WireEvent[] {
  const narrowed =
    event.type === 'told' ? { ...event, askers: event.askers.filter((asker) => isListener(sessionsOf(asker))) } : event
  return concerned(narrowed, observe(narrowed))
    .filter(({ asker }) => isListener(asker))
    .map(({ wire }) => wire)
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

/** How an event looks to those who only watch. */
function observe(event: StoreEvent): WireEvent {
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
      const { operation, node, owner, fence, attempt, outcome } = event
      return { type: 'ended', ...where, operation, node, owner, fence, attempt, ...outcome }
    }
    case 'progress': {
      const { operation, node, owner, fence, progress } = event
      return { type: 'progress', ...where, operation, node, owner, fence, progress }
    }
    case 'referenced':
    case 'dereferenced':
      return { type: event.type, ...where, node: event.node }
  }
}

interface Concern {
  readonly asker: { readonly owner: string; readonly sessions: readonly string[] }
  readonly wire: WireEvent & { readonly operation: string }
}

/** Whom an event concerns, and how it looks to each of them. */
function concerned(event: StoreEvent, observed: WireEvent): Concern[] {
  switch (event.type) {
    case 'queued':
    case 'granted':
    case 'claimed':
    case 'left':
    case 'hold-ended':
      return [{ asker: sessionsOf(event.asker), wire: observed as Concern['wire'] }]
    case 'told': {
      const { namespace, resource, atMs, operation, answer } = event
      return event.askers.map((asker) => ({
        asker: sessionsOf(asker),
        wire: { type: 'told', namespace, resource, atMs, operation, node: asker.node, owner: asker.owner, answer },
      }))
    }
    case 'ended':
      return [{ asker: { owner: event.owner, sessions: event.sessions }, wire: observed as Concern['wire'] }]
    case 'progress':
    case 'referenced':
    case 'dereferenced':
      return []
  }
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

function sessionsOf({ owner, session }: Asker): Concern['asker'] {
  return { owner, sessions: session === undefined ? [] : [session] }
}
