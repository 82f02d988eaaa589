import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { type ReplyOf, type Request, type RequestType, traceIn } from '../protocol/index.ts'
import type { Log, LogFields } from '../service/index.ts'
import type { Asker } from './guard.ts'
import { RequestNames } from './request-names.ts'

/** Those by which operators change what others have. */
const OPERATING: ReadonlySet<RequestType> = new Set(['revoke', 'forget', 'drop-node', 'apply-policy'])

interface Answered {
  readonly request: Request
  readonly reply: ReplyOf<RequestType>
  readonly asker: Asker
}

/** What is written down of requests: those of operators always, all others where debug is on. */
export class RequestLog {
  readonly #log: Log
  readonly names: RequestNames

  constructor(log: Log, instance = '') {
    this.#log = log
    this.names = new RequestNames(instance)
  }

  get isDebug(): boolean {
    return this.#log.isDebug
  }

  /** The log of what happens while this request is answered. */
  of(request: IncomingMessage): Log {
    return this.#log.child({ ...this.names.of(request) })
  }

  /** The same of what a stream is asked, by the number of the request. */
  onStream(stream: string, number?: number): Log {
    return this.#log.child({ stream, ...(number !== undefined && { request: number }) })
  }

  /** Whether the answer to a request of this type is written down. */
  wants(type: RequestType): boolean {
    return this.#log.isDebug || OPERATING.has(type)
  }

  /** Writes it down in the log of this request. */
  answered(log: Log, answered: Answered): void {
    if (answered.reply.status !== 'refused') operated(log, answered)
    if (!log.isDebug) return
    const { request, reply } = answered
    const { status } = reply
    const trace = 'traceparent' in request ? traceIn(request.traceparent) : undefined
    log.debug('request answered', {
      type: request.type,
      ...namesIn(request),
      ...trace,
      status,
      ...('code' in reply && { code: reply.code }),
      ...('fence' in reply && { fence: reply.fence }),
    })
  }
}

function operated(log: Log, { request, reply, asker }: Answered): void {
  const by = { role: asker.token?.role ?? 'anybody' }
  if (request.type === 'revoke' && reply.status === 'revoked') {
    const { fence, node } = reply
    log.info('grant revoked', { ...namesIn(request), node, fence, ...by })
  } else if (request.type === 'forget' && reply.status === 'forgotten') {
    log.info('kept success forgotten', { ...namesIn(request), kept: reply.kept, ...by })
  } else if (request.type === 'drop-node' && reply.status === 'dropped') {
    log.info('node dropped', { ...namesIn(request), resources: reply.resources, ...by })
  } else if (request.type === 'apply-policy' && reply.status === 'policy') {
    log.info('policy changed', { from: request.version, to: reply.version, ...by })
  }
}

const NAMES = ['namespace', 'resource', 'operation', 'node', 'owner'] as const

/** What a request is about. Whom it lets act is not said: a session only by what tells it from others, a hold not at all. */
function namesIn(request: Request): LogFields {
  const fields = request as Partial<Record<(typeof NAMES)[number] | 'session', string>>
  const named = NAMES.flatMap((name) => (fields[name] === undefined ? [] : [[name, fields[name]] as const]))
  const { session } = fields
  return { ...Object.fromEntries(named), ...(session !== undefined && { sessionTag: sessionTag(session) }) }
}

/** Writes down which sessions there are; `change` is what has become of one. */
export function sessionLog(log: Log): (session: string, change: 'opened' | 'left' | 'lost') => void {
  return (session, change) => {
    if (change === 'opened') log.debug('session opened', { sessionTag: sessionTag(session) })
    else log.debug('session ended', { sessionTag: sessionTag(session), how: change })
  }
}

/** Knowing a session is being it: the log has as much of it as tells it from others. */
function sessionTag(session: string): string {
  return createHash('sha256').update(session).digest('hex').slice(0, 8)
}
