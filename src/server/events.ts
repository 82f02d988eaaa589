import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { SHARED_HOLD } from '../core/index.ts'
import { eventsRoute, SESSION_HEADER, type StatePart, sseFrame, sseRetry, type WireEvent } from '../protocol/index.ts'
import { idSchema } from '../protocol/schemas.ts'
import type { ListenOptions, Scope, Service, Sink } from '../service/index.ts'
import { sentenceOf } from './check.ts'
import type { Guard } from './guard.ts'
import { STATE_PART_BYTES } from './limits.ts'
import { Refusal } from './refusal.ts'
import type { Stream } from './stream.ts'
import type { Streams } from './streams.ts'

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

/** GET /v1/events: the first event tells the present state, or what was missed since Last-Event-ID. */
export function serveEvents(
  app: FastifyInstance,
  { service, streams, guard }: { service: Service; streams: Streams; guard: Guard },
): void {
  const frameOf = framesOnce()
  app.get(eventsRoute.path, async (request, reply) => {
    const { scope, namespace } = wanted(request)
    const { actsFor } = guard.checkScope(request.asker, { scope, namespace })
    streams.checkRoom()
    const leave = streams.watch(scope)
    reply.hijack()
    const lastWords = sseRetry(RETRY_SOON_MS)
    const stream = streams.add(reply.raw, { heartbeat: true, lastWords, asker: request.asker })
    if (leave) stream.onClose(leave)
    stream.open(SSE_HEADERS, sseRetry(RETRY_MS))
    const sink: Sink = (event, id) => {
      if (namespace === undefined || isOf(event, namespace)) streams.send(stream, frameOf(event, id))
    }
    const onWaiting = (change: number) => streams.wait(stream, change)
    const piecewise = {
      bytes: STATE_PART_BYTES,
      // Who comes back after some parts has not been told the state: only the last has an id.
      tell: (data: StatePart, id: string) =>
        streams.send(stream, sseFrame({ id: data.more ? undefined : id, event: data.type, data })),
      taken: () => stream.taken(),
    }
    const lastId = lastEventId(request)
    await listenWhileOpen(service, { stream, scope, sink, lastId, actsFor, onWaiting, piecewise })
  })
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

function wanted({ query, headers }: FastifyRequest): { scope: Scope; namespace?: string | undefined } {
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

function lastEventId({ headers }: FastifyRequest): string | undefined {
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
