import type { Method } from './call.ts'
import type { Field } from './field.ts'
import { ConnectionError, ERROR, FLAG, type Frame, StreamError, unpadded } from './frame.ts'
import type { FrameWriter } from './frame-writer.ts'
import { Inbound } from './inbound.ts'
import { areTrailers, requestHead } from './request-head.ts'
import { SendFlow } from './send-flow.ts'
import { ServerCall } from './server-call.ts'
import { httpAnswer, STATUS, trailersOf } from './status.ts'

/** More than a containerd ever has; one that has more has to wait. */
export const STREAMS_MAX = 1_000

interface Headers {
  readonly streamId: number
  readonly fields: readonly Field[] | 'too-large'
  /** The client sends nothing after it. */
  readonly isLast: boolean
}

/** The streams of one connection: each is a call, from its headers until its trailers are written or it is reset. */
export class Streams {
  /** What all of them send. */
  readonly flow: SendFlow
  readonly #methods: ReadonlyMap<string, Method>
  readonly #writer: FrameWriter
  readonly #calls = new Map<number, ServerCall>()
  #lastId = 0

  constructor({ methods, writer }: { methods: ReadonlyMap<string, Method>; writer: FrameWriter }) {
    this.#methods = methods
    this.#writer = writer
    this.flow = new SendFlow({ writer, onFinished: (streamId) => this.#finished(streamId) })
  }

  /** The last one that the client has opened. */
  get lastId(): number {
    return this.#lastId
  }

  headers(headers: Headers): void {
    const { streamId, isLast } = headers
    const call = this.#calls.get(streamId)
    if (call) return void this.#trailers(call, headers)
    if (streamId > this.#lastId && streamId % 2 === 1) {
      this.#lastId = streamId
      return void this.#open(headers)
    }
    // Trailers may cross with the end of their call; anything else cannot be.
    if (streamId % 2 === 0 || !isLast) throw new ConnectionError(ERROR.protocol, 'headers of a stream that is over')
  }

  data(frame: Frame): void {
    const { streamId, flags, payload } = frame
    const bytes = unpadded(frame)
    const call = this.#get(streamId)
    if (!call) return
    if (call.isHalfClosed) throw closed(streamId)
    call.receive(bytes, payload.length)
    if (flags & FLAG.endStream) call.halfClose()
  }

  widen(streamId: number, bytes: number): void {
    const call = this.#get(streamId)
    if (call) this.flow.widenStream(call.outbound, bytes)
  }

  resizeAll(initialWindow: number): void {
    this.flow.resizeAll(this.#calls.values(), initialWindow)
  }

  /** By the client. After a complete answer it is usual, and the stream is gone by then. */
  reset(streamId: number): void {
    const call = this.#get(streamId)
    this.#calls.delete(streamId)
    call?.cancel()
  }

  /** By the server. */
  fail({ streamId, code }: StreamError): void {
    this.#writer.rstStream({ streamId, code })
    this.reset(streamId)
  }

  cancelAll(): void {
    const calls = [...this.#calls.values()]
    this.#calls.clear()
    for (const call of calls) call.cancel()
  }

  #get(streamId: number): ServerCall | undefined {
    const call = this.#calls.get(streamId)
    if (!call && (streamId > this.#lastId || streamId % 2 === 0)) {
      throw new ConnectionError(ERROR.protocol, 'a frame of a stream that was never opened')
    }
    return call
  }

  #open({ streamId, fields, isLast }: Headers): void {
    if (this.#calls.size >= STREAMS_MAX) throw new StreamError({ streamId, code: ERROR.refusedStream, message: 'full' })
    const answer = (block: Buffer) => {
      this.#writer.headers({ streamId, block, isLast: true })
      if (!isLast) this.#writer.rstStream({ streamId, code: ERROR.none })
    }
    if (fields === 'too-large') return void answer(TOO_LARGE)
    const head = requestHead(fields)
    if (head.kind === 'malformed') throw malformed(streamId)
    if (head.kind === 'http') return void answer(httpAnswer(head.status))
    const { path } = head
    const method = this.#methods.get(path)
    if (!method) return void answer(unknown(path))
    const inbound = new Inbound({ streamId, writer: this.#writer })
    const call = new ServerCall({ path, method, inbound, outbound: this.flow.open(streamId) })
    this.#calls.set(streamId, call)
    call.open()
    if (isLast) call.halfClose()
  }

  #trailers(call: ServerCall, { streamId, fields, isLast }: Headers): void {
    if (call.isHalfClosed) throw closed(streamId)
    if (!isLast || fields === 'too-large' || !areTrailers(fields)) throw malformed(streamId)
    call.halfClose()
  }

  #finished(streamId: number): void {
    const call = this.#calls.get(streamId)
    this.#calls.delete(streamId)
    // What it still sends is not wanted (RFC 9113, section 8.1).
    if (call?.isHalfClosed === false) this.#writer.rstStream({ streamId, code: ERROR.none })
  }
}

const TOO_LARGE = trailersOf(
  { code: STATUS.resourceExhausted, message: 'the headers of the request are too large' },
  { isOnly: true },
)

function unknown(path: string): Buffer {
  return trailersOf({ code: STATUS.unimplemented, message: `there is no method ${path}` }, { isOnly: true })
}

function malformed(streamId: number): StreamError {
  return new StreamError({ streamId, code: ERROR.protocol, message: 'a malformed request' })
}

function closed(streamId: number): StreamError {
  return new StreamError({ streamId, code: ERROR.streamClosed, message: 'more after the end of the request' })
}
