import type { IncomingHttpHeaders } from 'node:http'
import { type Trace, traceIn } from '@baton-lock/protocol'

/** The header by which a request is named, and found in the log. */
export const REQUEST_ID_HEADER = 'x-request-id'

/** What a client may choose: short, and of characters that mean nothing anywhere. */
const GIVEN = /^[\w.:=+/-]{1,64}$/

/** By what the log entries of one HTTP request are found. */
export interface RequestName extends Partial<Trace> {
  readonly requestId: string
}

/** Names requests and streams. */
export class RequestNames {
  readonly #prefix: string
  #made = 0

  /** `instance` tells this process from others. */
  constructor(instance: string) {
    this.#prefix = instance === '' ? '' : `${instance}-`
  }

  /** The name that the client has given its request, or a new one; call it once for each request. */
  of({ [REQUEST_ID_HEADER]: given, traceparent }: IncomingHttpHeaders): RequestName {
    const requestId = typeof given === 'string' && GIVEN.test(given) ? given : this.next()
    return traceparent === undefined ? { requestId } : { requestId, ...traceIn(traceparent) }
  }

  /** A name that no other request has, nor a stream. */
  next(): string {
    return `${this.#prefix}${++this.#made}`
  }
}
