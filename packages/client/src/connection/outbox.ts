import {
  FRAME_LIMITS,
  type ListenFrame,
  type RequestDefaults,
  type RequestType,
  TAKE_DEFAULTS,
} from '@baton-lock/protocol'
import type { SentHolds } from './sent-holds.ts'
import type { InputOf } from './transport.ts'

type AnyRequest = InputOf<RequestType>

/** A character has four bytes at most. The last request of a frame may be as large as a body. */
const CHARS_PER_FRAME = FRAME_LIMITS.bytes / 4

/** What is to be sent on a connection, and the frames that it makes. */
export class Outbox {
  readonly #sentHolds: SentHolds
  readonly #connection: number
  #requests: AnyRequest[] = []
  #listen: ListenFrame[] = []
  #unlisten: number[] = []
  #defaults: RequestDefaults = {}
  #lastNumber = 0
  #acked = 0

  constructor(sentHolds: SentHolds, connection: number) {
    this.#sentHolds = sentHolds
    this.#connection = connection
  }

  /** How many requests are to be sent. */
  get requests(): number {
    return this.#requests.length
  }

  /** Requests are numbered from 1. */
  add(request: AnyRequest): void {
    this.#requests.push(request)
    this.#lastNumber++
  }

  listen(frame: ListenFrame): void {
    this.#listen.push(frame)
  }

  unlisten(id: number): void {
    this.#unlisten.push(id)
  }

  /**
   * The next frame as text, with as many requests as fit; `undefined` if there is nothing to send. `oldest`: the number of the first
   * request without a reply.
   */
  nextFrame(oldest: number | undefined): string | undefined {
    const from = this.#lastNumber - this.#requests.length + 1
    const fields: string[] = []
    if (this.#hasNewDefaults()) fields.push(`"defaults":${JSON.stringify(this.#defaults)}`)
    const texts: string[] = []
    /** The numbers of requests that the server has to remember. */
    const keep: number[] = []
    let chars = 0
    for (const request of this.#requests) {
      if (texts.length === FRAME_LIMITS.requests || chars > CHARS_PER_FRAME) break
      if (!this.#sentHolds.isOnOneConnection(request, this.#connection)) keep.push(from + texts.length)
      const text = requestText(request, this.#defaults)
      chars += text.length
      texts.push(text)
    }
    this.#requests = texts.length === this.#requests.length ? [] : this.#requests.slice(texts.length)
    if (texts.length > 0) fields.push(`"from":${from},"requests":[${texts.join(',')}]`)
    if (keep.length > 0) fields.push(`"keep":${JSON.stringify(keep)}`)
    if (this.#listen.length > 0) fields.push(`"listen":${JSON.stringify(this.#listen)}`)
    if (this.#unlisten.length > 0) fields.push(`"unlisten":${JSON.stringify(this.#unlisten)}`)
    if (fields.length === 0) return undefined
    // All replies up to this number have arrived.
    const acked = Math.min(oldest === undefined ? this.#lastNumber : oldest - 1, from - 1)
    if (acked > this.#acked) {
      this.#acked = acked
      fields.push(`"acked":${acked}`)
    }
    this.#listen = []
    this.#unlisten = []
    return `{${fields.join(',')}}`
  }

  /** With the first acquire, and again with the first one of another session. */
  #hasNewDefaults(): boolean {
    const acquire = this.#requests.find((request): request is InputOf<'acquire'> => request.type === 'acquire')
    if (!acquire || acquire.session === this.#defaults.session) return false
    const { namespace, node, session } = acquire
    this.#defaults = { namespace, node, session }
    return true
  }
}

/** A request as JSON, without what the defaults of the connection say. */
function requestText(request: AnyRequest, defaults: RequestDefaults): string {
  const takes = TAKE_DEFAULTS.has(request.type)
  const takesSession = request.type === 'acquire'
  let text = `{"type":"${request.type}"`
  for (const name in request) {
    const value: unknown = request[name as keyof typeof request]
    if (value === undefined || name === 'type') continue
    if (takes && name === 'namespace' && value === defaults.namespace) continue
    if (takes && name === 'node' && value === defaults.node) continue
    if (takesSession && name === 'session' && value === defaults.session) continue
    text += `,"${name}":${JSON.stringify(value)}`
  }
  return `${text}}`
}
