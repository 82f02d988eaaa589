import type { IncomingHttpHeaders } from 'node:http'
import { type Trace, traceIn } from '../protocol/index.ts'

/** The header by which a request is named, and found in the log. */
export const REQUEST_ID_HEADER = 'x-request-id'

/** What a client may choose: short, and of characters that mean nothing anywhere. */
const GIVEN = /^[\w.:=+/-]{1,64}$/

/** By what the entries of one request are found in the log. */
interface RequestName extends Partial<Trace> {
  readonly requestId: string
}

/** Any request, as far as it has to do with its name. */
interface Named {
  readonly headers: IncomingHttpHeaders
}

/** Gives requests their names: that of the client, or one that is made when somebody wants to know it. */
export class RequestNames {
  readonly #prefix: string
  #made = 0
  readonly #names = new WeakMap<Named, RequestName>()

  /** `instance`: of this process alone. */
  constructor(instance: string) {
    this.#prefix = instance === '' ? '' : `${instance}-`
  }

  of(request: Named): RequestName {
    const known = this.#names.get(request)
    if (known) return known
    const { [REQUEST_ID_HEADER]: given, traceparent } = request.headers
    const requestId = typeof given === 'string' && GIVEN.test(given) ? given : this.next()
    const name = { requestId, ...traceIn(traceparent) }
    this.#names.set(request, name)
    return name
  }

  /** A name that no other request has, nor a stream. */
  next(): string {
    return `${this.#prefix}${++this.#made}`
  }
}
