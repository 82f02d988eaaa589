import { SHARED_HOLD } from '@baton-lock/core'
import { eventsRoute, SESSION_HEADER, type StatePart, sseFrame, sseRetry, type WireEvent } from '@baton-lock/protocol'
import { idSchema } from '@baton-lock/protocol/schemas'
import type { ListenOptions, Scope, Service, Sink } from '@baton-lock/service'
import { z } from 'zod'
import type { Guard } from '../auth/guard.ts'
import type { Exchange } from '../http/exchange.ts'
import type { HttpRoute } from '../http/router.ts'
import { STATE_PART_BYTES } from '../limits.ts'
import { Refusal } from '../refusal.ts'
import type { Stream } from '../streams/http-stream.ts'
import type { Streams } from '../streams/streams.ts'
import { sentenceOf } from './check.ts'

const RETRY_MS = 1_000
/** The same for one whose server goes: another one may be there, or the same again in a moment. */
const RETRY_SOON_MS = 200

const SSE_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
}

export const eventsQuery = z.strictObject({
  namespace: idSchema.optional().describe('only events of this namespace; of a resource or an ask: its own'),
  resource: idSchema.optional().describe('only events of this resource'),
  operation: idSchema.optional().describe('with resource and owner: only what concerns this ask'),
  node: idSchema.optional().describe('of the owner; absent: any'),
  owner: idSchema.optional(),
  hold: idSchema.optional(),
})

/** GET /v1/events: the first event is the present state, or what was missed since Last-Event-ID. */
export function eventRoutes({ service, streams, guard }: EventsOptions): HttpRoute[] {
  const frameOf = framesOnce()
  const handle = async (exchange: Exchange): Promise<undefined> => {
    const { scope, namespace } = wanted(exchange)
    const { actsFor } = guard.checkScope(exchange.asker, { scope, namespace })
    streams.checkRoom()
    const leave = streams.watch(scope)
    const lastWords = sseRetry(RETRY_SOON_MS)
    const stream = streams.add(exchange.response, { heartbeat: true, lastWords, asker: exchange.asker })
    if (leave) stream.onClose(leave)
    stream.open({ ...exchange.headers, ...SSE_HEADERS }, sseRetry(RETRY_MS))
    exchange.logAnswer(200)
    const sink: Sink = (event, id) => {
      if (namespace === undefined || isOf(event, namespace)) streams.send(stream, frameOf(event, id))
    }
    const onWaiting = (change: number) => streams.wait(stream, change)
    const piecewise = {
      bytes: STATE_PART_BYTES,
      // Only the last part has an id: a client that comes back after some parts has not been told the state.
      tell: (data: StatePart, id: string) =>
        streams.send(stream, sseFrame({ id: data.more ? undefined : id, event: data.type, data })),
      taken: () => stream.taken(),
    }
    const lastId = lastEventId(exchange)
    await listenWhileOpen(service, { stream, scope, sink, lastId, actsFor, onWaiting, piecewise })
  }
  return [{ method: eventsRoute.method, path: eventsRoute.path, handle }]
}

interface EventsOptions {
  readonly service: Service
  readonly streams: Streams
  readonly guard: Guard
}

/** Joins a stream to what it listens to: whichever ends first, the other goes with it. */
export async function listenWhileOpen(
  service: Service,
  { stream, scope, sink, ...options }: { stream: Stream; scope: Scope; sink: Sink } & ListenOptions,
): Promise<void> {
  try {
    const stop = await service.listen(scope, sink, { ...options, isGone: () => stream.isClosed })
    stream.onClose(stop)
  } catch {
    // The headers are gone; a reset makes the client come back, and by then the store may have too.
    stream.cut()
  }
}

function wanted({ query, request: { headers } }: Exchange): { scope: Scope; namespace?: string | undefined } {
  const result = eventsQuery.safeParse(query)
  if (!result.success) throw new Refusal('bad-request', sentenceOf(result.error))
  const { resource, operation, node, owner, hold = SHARED_HOLD } = result.data
  const session = headers[SESSION_HEADER]
  if (session !== undefined) {
    const parsed = idSchema.safeParse(session)
    if (!parsed.success) throw new Refusal('bad-request', `Header ${SESSION_HEADER}: must be a session id.`)
    return { scope: { of: 'session', session: parsed.data } }
  }
  const namespace = result.data.namespace ?? 'default'
  const isHalf = (operation === undefined) !== (owner === undefined) || (node !== undefined && owner === undefined)
  if (isHalf || (operation !== undefined && resource === undefined)) {
    throw new Refusal('bad-request', 'An ask is named by resource, operation and owner; give all three.')
  }
  if (resource === undefined) return { scope: { of: 'all' }, namespace: result.data.namespace }
  if (operation === undefined || owner === undefined) return { scope: { of: 'resource', namespace, resource } }
  return { scope: { of: 'ask', namespace, resource, operation, node, owner, hold } }
}

function lastEventId({ request: { headers } }: Exchange): string | undefined {
  const id = headers['last-event-id']
  return typeof id === 'string' && id !== '' ? id : undefined
}

function isOf(event: WireEvent, namespace: string): boolean {
  return !('namespace' in event) || event.namespace === namespace
}

/** The same event goes to many: it is written as text once. */
function framesOnce(): (event: WireEvent, id: string) => string {
  let last: { event: WireEvent; id: string; frame: string } | undefined
  return (event, id) => {
    if (last?.event !== event || last.id !== id)
      last = { event, id, frame: sseFrame({ id, event: event.type, data: event }) }
    return last.frame
  }
}
