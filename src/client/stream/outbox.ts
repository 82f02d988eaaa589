import { FRAME_LIMITS, type ListenFrame, type RequestDefaults, type RequestType } from '../../protocol/index.ts'
import type { InputOf } from '../transport.ts'
import type { Asks } from './asks.ts'
import { requestText } from './request-text.ts'

type AnyRequest = InputOf<RequestType>

/** Four bytes each at most; the last request may be as large as a body. */
const CHARS_PER_FRAME = FRAME_LIMITS.bytes / 4

/** What has come up and has not been sent, and the frames that it makes. */
export class Outbox {
  readonly #asks: Asks
  readonly #connection: number
  #requests: AnyRequest[] = []
  #listen: ListenFrame[] = []
  #unlisten: number[] = []
  #defaults: RequestDefaults = {}
  #lastNumber = 0
  #acked = 0

  constructor(asks: Asks, connection: number) {
    this.#asks = asks
    this.#connection = connection
  }

  /** How many requests wait to be sent. */
  get requests(): number {
    return this.#requests.length
  }

  /** Its number is the next one, from 1. */
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

  /** The next frame as text, if there is anything to be sent. `oldest`: the number of the first request without a reply. */
  nextFrame(oldest: number | undefined): string | undefined {
    const from = this.#lastNumber - this.#requests.length + 1
    const fields: string[] = []
    const keep: number[] = []
    if (this.#hasNewDefaults()) fields.push(`"defaults":${JSON.stringify(this.#defaults)}`)
    const texts = this.#nextTexts(from, keep)
    if (texts.length > 0) fields.push(`"from":${from},"requests":[${texts.join(',')}]`)
    if (keep.length > 0) fields.push(`"keep":${JSON.stringify(keep)}`)
    if (this.#listen.length > 0) fields.push(`"listen":${JSON.stringify(this.#listen)}`)
    if (this.#unlisten.length > 0) fields.push(`"unlisten":${JSON.stringify(this.#unlisten)}`)
    if (fields.length === 0) return undefined
    // The replies up to this one have all come.
    const acked = Math.min(oldest === undefined ? this.#lastNumber : oldest - 1, from - 1)
    if (acked > this.#acked) {
      this.#acked = acked
      fields.push(`"acked":${acked}`)
    }
    this.#listen = []
    this.#unlisten = []
    return `{${fields.join(',')}}`
  }

  /** Those of the first ask, and again where there is another session. */
  #hasNewDefaults(): boolean {
    const ask = this.#requests.find((request): request is InputOf<'acquire'> => request.type === 'acquire')
    if (!ask || ask.session === this.#defaults.session) return false
    const { namespace, node, session } = ask
    this.#defaults = { namespace, node, session }
    return true
  }

  /** As many requests as go into one frame, as text; those among them that have to be remembered. */
  #nextTexts(from: number, keep: number[]): string[] {
    const texts: string[] = []
    let chars = 0
    for (const request of this.#requests) {
      if (texts.length === FRAME_LIMITS.requests || chars > CHARS_PER_FRAME) break
      if (!this.#asks.isOnOneConnection(request, this.#connection)) keep.push(from + texts.length)
      const text = requestText(request, this.#defaults)
      chars += text.length
      texts.push(text)
    }
    this.#requests = texts.length === this.#requests.length ? [] : this.#requests.slice(texts.length)
    return texts
  }
}
