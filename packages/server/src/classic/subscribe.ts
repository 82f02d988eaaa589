import type { Answer, Refused, Skip, Standing } from '@baton-lock/core'
import type { Sink } from '@baton-lock/service'
import type { Exchange } from '../http/exchange.ts'
import type { HttpRoute } from '../http/router.ts'
import { listenWhileOpen } from '../v1/events.ts'
import { type ClassicAsk, NAMESPACE, placeOf, subscriptionOf } from './ask.ts'
import type { KeyWatch, Subscriber } from './key-watch.ts'
import type { ClassicOptions } from './options.ts'

const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
}

/**
 * The known client drops the first line that comes after a second of waiting, and asks again at once; so what it was told is
 * kept for that ask. After this, whatever it asks is something new. One that was told of a failure always asks again.
 */
const HEARD_AFTER_MS = 2_000

/**
 * GET /lock/subscribe. No heartbeat: the known client takes any line for news (TCP keepalive finds the dead). No clean
 * end either: a stream is reset when the server goes, as the client takes an end for an error.
 */
export function subscribeRoutes(options: ClassicOptions): HttpRoute[] {
  const { streams, watches, guard } = options
  const handle = async (exchange: Exchange): Promise<undefined> => {
    const { asker, query } = exchange
    const { key, node } = subscriptionOf(query)
    const { actsFor } = guard.checkClassic(asker, { namespace: NAMESPACE, node })
    streams.checkRoom()
    const stream = streams.add(exchange.response, { heartbeat: false, asker })
    stream.open({ ...exchange.headers, ...HEADERS }, '')
    exchange.logAnswer(200)
    try {
      const watch = await watches.enter(key)
      stream.onClose(() => watches.leave(key))
      const subscriber: Subscriber = { stream, node, actsFor }
      watch.add(subscriber)
      if (node === undefined) await watch.catchUp(subscriber)
      else await followAsk(options, { watch, subscriber, ask: { ...key, node }, actsFor })
    } catch {
      stream.cut()
    }
  }
  return [{ method: 'GET', path: '/lock/subscribe', handle }]
}

interface Following {
  readonly watch: KeyWatch
  readonly subscriber: Subscriber
  readonly ask: ClassicAsk
  readonly actsFor: readonly string[] | undefined
}

/** What one node is told of its own ask; hand-overs and successes come to it by the watch. Keeps its place. */
async function followAsk({ service, streams, timers }: ClassicOptions, following: Following): Promise<void> {
  const { watch, subscriber, ask, actsFor } = following
  const { stream } = subscriber
  const heard = ({ fence }: Skip) => void service.heard({ ...placeOf(ask), fence }, { actsFor })
  const sink: Sink = (event) => {
    if (event.type === 'told') {
      const { answer } = event
      tellAnswer(following, answer, event.atMs)
      if (answer.status === 'skip') timers.after(HEARD_AFTER_MS, () => heard(answer))
    }
    if (event.type !== 'state' || event.of !== 'ask') return
    const { standing } = event
    if (standing.status === 'nothing') watch.replay(subscriber).catch(() => stream.cut())
    else if (standing.status === 'refused') tellLostPlace(standing).catch(() => stream.cut())
    else if (isAnswer(standing)) tellAnswer(following, standing, service.nowMs())
  }
  // Kept by the store, so that it is told at any server. A success of the key counts for more: the client ends with it.
  const tellLostPlace = async (answer: Refused) => {
    if (!(await watch.replay(subscriber))) tellAnswer(following, answer, service.nowMs())
  }
  const scope = { of: 'ask', ...placeOf(ask) } as const
  const onWaiting = (change: number) => streams.wait(stream, change)
  await listenWhileOpen(service, { stream, scope, sink, actsFor, hears: false, onWaiting })
}

function tellAnswer({ watch, subscriber, ask: { node } }: Following, answer: Answer, atMs: number): void {
  if (answer.status === 'skip') {
    watch.tellSuccess(subscriber, { fence: answer.fence, node: answer.by ?? node, atMs: answer.atMs ?? atMs })
  } else {
    // Its own id and no success make the client ask again: the answer to that says why.
    watch.tell(subscriber, { node, success: false, error: errorOf(answer), atMs })
  }
}

function errorOf(answer: Exclude<Answer, Skip>): string {
  if (answer.status === 'failed') return answer.error
  return answer.code === 'passed-over' ? 'no longer in line; ask again' : answer.code
}

function isAnswer(standing: Standing): standing is Answer {
  return standing.status === 'skip' || standing.status === 'failed' || standing.status === 'refused'
}
