import { createHash } from 'node:crypto'
import {
  type ErrorBody,
  type ErrorCode,
  type ReplyOf,
  type Request,
  type RequestType,
  traceIn,
} from '@baton-lock/protocol'
import type { Log, LogFields } from '@baton-lock/service'
import { bodyOf, knownBodyOf } from '../refusal.ts'
import { RequestNames } from './request-names.ts'

interface RequestLogOptions {
  /** Of the service. */
  readonly instance?: string
  /** Called for every refusal by the server itself. The service counts its own. */
  readonly onRefused?: (code: ErrorCode) => void
}

/** The log as requests use it: by what each is found, and how it was answered. */
export class RequestLog {
  readonly #log: Log
  readonly #onRefused: (code: ErrorCode) => void
  readonly names: RequestNames

  constructor(log: Log, { instance = '', onRefused = () => {} }: RequestLogOptions = {}) {
    this.#log = log
    this.#onRefused = onRefused
    this.names = new RequestNames(instance)
  }

  get isDebug(): boolean {
    return this.#log.isDebug
  }

  /** The log with the name of a request, or of a stream, in every entry. */
  named(name: LogFields): Log {
    return this.#log.child(name)
  }

  /** The refusal that an error is answered with. */
  failed(error: unknown, logOf: () => Log): ErrorBody {
    const body = bodyOf(error, logOf)
    this.#onRefused(body.code)
    return body
  }

  /** Writes down how a request was answered, or what was thrown in place of that. */
  answered(name: LogFields, request: Request, reply: ReplyOf<RequestType> | undefined, error?: unknown): void {
    const body = reply ?? knownBodyOf(error) ?? { status: 'refused', code: 'internal' }
    const trace = 'traceparent' in request ? traceIn(request.traceparent) : undefined
    this.#log.debug('request answered', {
      ...name,
      type: request.type,
      ...namesIn(request),
      ...trace,
      status: body.status,
      ...('code' in body && { code: body.code }),
      ...('fence' in body && { fence: body.fence }),
    })
  }
}

const NAMES = ['namespace', 'resource', 'operation', 'node', 'owner'] as const

/** What a request is about. A session shows as its tag only, a hold not at all: who knows them can act by them. */
function namesIn(request: Request): LogFields {
  const fields = request as Partial<Record<(typeof NAMES)[number] | 'session', string>>
  const named = NAMES.flatMap((name) => (fields[name] === undefined ? [] : [[name, fields[name]] as const]))
  const { session } = fields
  return { ...Object.fromEntries(named), ...(session !== undefined && { sessionTag: sessionTag(session) }) }
}

/** Writes down how sessions begin and end. */
export function sessionLog(log: Log): (session: string, change: 'opened' | 'left' | 'lost') => void {
  return (session, change) => {
    if (change === 'opened') log.debug('session opened', { sessionTag: sessionTag(session) })
    else log.debug('session ended', { sessionTag: sessionTag(session), how: change })
  }
}

/** Whoever knows the id of a session can use it: the log has a hash. */
function sessionTag(session: string): string {
  return createHash('sha256').update(session).digest('hex').slice(0, 8)
}
