import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import {
  type ErrorBody,
  type ErrorCode,
  type ReplyOf,
  type Request,
  type RequestType,
  traceIn,
} from '../protocol/index.ts'
import type { Log, LogFields } from '../service/index.ts'
import { bodyOf, knownBodyOf } from './refusal.ts'
import { RequestNames } from './request-names.ts'

/** By what a request is found in the log; `number` is that of one on a stream. */
export type NameOf = (number: number) => LogFields

interface RequestLogOptions {
  /** Of the service. */
  readonly instance?: string
  /** Told of every answer that is a refusal of the server itself: what the service refuses, that counts. */
  readonly onRefused?: (code: ErrorCode) => void
}

/** The log, as requests have it: by what each is found, and how it was answered. */
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

  /** The log of what happens while this request is answered. */
  of(request: IncomingMessage): Log {
    return this.#log.child({ ...this.names.of(request) })
  }

  /** The same of what a stream is asked, by the number of the request; where there is none, of the stream. */
  onStream(stream: string, number?: number): Log {
    return this.#log.child(number === undefined ? { stream } : onStream(stream, number))
  }

  /** What a request is answered with in whose place this was thrown. */
  failed(request: IncomingMessage, error: unknown): ErrorBody {
    return this.refused(bodyOf(error, () => this.of(request)))
  }

  /** The same for what a stream is asked. */
  failedOnStream(stream: string, error: unknown, number?: number): ErrorBody {
    return this.refused(bodyOf(error, () => this.onStream(stream, number)))
  }

  /** This is the answer. */
  refused(body: ErrorBody): ErrorBody {
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

export function onStream(stream: string, number: number): LogFields {
  return { stream, request: number }
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
