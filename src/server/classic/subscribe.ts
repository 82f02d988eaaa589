import type { FastifyInstance } from 'fastify'
import type { Answer, Standing } from '../../core/index.ts'
import type { Sink } from '../../service/index.ts'
import { listenWhileOpen } from '../events.ts'
import { type ClassicKey, keyOf, NAMESPACE, optionalIdOf, placeOf } from './ask.ts'
import type { KeyWatch, Subscriber } from './key-watch.ts'
import type { ClassicParts } from './parts.ts'

const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
}

/**
 * GET /lock/subscribe. No heartbeat: the known client takes any line for news (TCP keepalive finds the dead). No clean
 * end either: a stream is reset when the server goes, as the client takes an end for an error.
 */
export function serveSubscribe(app: FastifyInstance, { service, streams, watches, guard }: ClassicParts): void {
  app.get('/lock/subscribe', async (request, reply) => {
    const key = keyOf(request.query)
    const node = optionalIdOf(request.query, 'node_id')
    guard.checkNode(request, { namespace: NAMESPACE, node, reads: true })
    streams.checkRoom()
    reply.hijack()
    const stream = streams.add(reply.raw, { heartbeat: false })
    stream.open(HEADERS, '')
    try {
      const watch = await watches.enter(key)
      stream.onClose(() => watches.leave(key))
      const subscriber: Subscriber = { stream, node }
      watch.add(subscriber)
      if (node === undefined) await watch.replay(subscriber)
      else {
        const sink = sinkOf(watch, { subscriber, node, nowMs: () => service.nowMs() })
        await listenWhileOpen(service, { stream, scope: scopeOf(key, node), sink })
      }
    } catch {
      stream.cut()
    }
  })
}

function scopeOf(key: ClassicKey, node: string) {
  return { of: 'ask', ...placeOf({ ...key, node }) } as const
}

/** What one node is told of its own ask; hand-overs and successes come to it by the watch. */
function sinkOf(
  watch: KeyWatch,
  { subscriber, node, nowMs }: { subscriber: Subscriber; node: string; nowMs: () => number },
): Sink {
  return (event) => {
    if (event.type === 'state' && event.of === 'ask') {
      if (event.standing.status === 'nothing') watch.replay(subscriber).catch(() => subscriber.stream.cut())
      else if (isAnswer(event.standing)) tellAnswer(watch, { subscriber, node, answer: event.standing, atMs: nowMs() })
    } else if (event.type === 'told') {
      tellAnswer(watch, { subscriber, node, answer: event.answer, atMs: event.atMs })
    }
  }
}

function tellAnswer(
  watch: KeyWatch,
  { subscriber, node, answer, atMs }: { subscriber: Subscriber; node: string; answer: Answer; atMs: number },
): void {
  if (answer.status === 'skip') {
    watch.tellSuccess(subscriber, { fence: answer.fence, node: answer.by ?? node, atMs: answer.atMs ?? atMs })
  } else {
    // Its own id and no success make the client ask again: the answer to that says why.
    const error = answer.status === 'failed' ? answer.error : answer.code
    watch.tell(subscriber, { node, success: false, error, atMs })
  }
}

function isAnswer(standing: Standing): standing is Answer {
  return standing.status === 'skip' || standing.status === 'failed' || standing.status === 'refused'
}
