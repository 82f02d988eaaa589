import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http2'
import type { Socket } from 'node:net'
import type { Timing } from '@baton-lock/store/timing'
import { status } from '@grpc/grpc-js'
import type { EtcdTarget } from '../etcd-url.ts'
import { Failure } from './failures.ts'
import { afterListening } from './patience.ts'
import { socketTo } from './security.ts'

const WINDOW_BYTES = 1024 * 1024
/** Node would refuse streams beyond 10 MB: how much is under way is decided elsewhere. */
const MEMORY_MB = 1_024
/** Whether it is compressed, and how long it is. */
const PREFIX_BYTES = 5

/** What is sent. `headers`: without the path. */
interface UnaryRequest {
  readonly path: string
  readonly headers: OutgoingHttpHeaders
  readonly message: Buffer
}

/** Who is told what comes of it. */
interface UnaryAnswer {
  /** At most once. */
  answered(message: Buffer): void
  /** It is over. `failure`: where there was no answer. Called once, last. */
  ended(failure: Failure | undefined): void
}

/**
 * Calls of one message that are answered by one, over a connection of their own. A call of grpc-js passes through five layers (resolving,
 * balancing, retrying, filters, credentials), which are not used here and take longer than etcd takes for a commit on a fast disk.
 */
export class UnaryCalls {
  readonly #session: ClientHttp2Session
  readonly #socket: Socket
  /** Not all is well with its member: nothing is to be concluded from how streams end. */
  #isBroken = false

  /** Rejects where there is none within the time. */
  static open(
    endpoint: string,
    target: EtcdTarget,
    { timing, limitMs }: { readonly timing: Timing; readonly limitMs: number },
  ): Promise<UnaryCalls> {
    return new Promise((resolve, reject) => {
      const socket = socketTo(endpoint, target)
      const session = connect(`${target.tls ? 'https' : 'http'}://${endpoint}`, {
        createConnection: () => socket,
        maxSessionMemory: MEMORY_MB,
        settings: { enablePush: false, initialWindowSize: WINDOW_BYTES },
      })
      const fail = (error: Error) => {
        cancelTimer()
        session.destroy()
        socket.destroy()
        reject(error)
      }
      const late = () => fail(new Error(`no answer within ${limitMs} ms`))
      const cancelTimer = afterListening(timing, limitMs, late)
      session.on('error', fail)
      session.once('close', () => fail(new Error('Failed to connect')))
      session.once('remoteSettings', () => {
        cancelTimer()
        session.setLocalWindowSize(WINDOW_BYTES)
        resolve(new UnaryCalls(session, socket))
      })
    })
  }

  private constructor(session: ClientHttp2Session, socket: Socket) {
    this.#session = session
    this.#socket = socket
    session.once('goaway', (code) => {
      this.#isBroken = code !== constants.NGHTTP2_NO_ERROR
    })
  }

  /** Calls back when nothing can be begun on it any more. */
  onLost(callback: () => void): void {
    this.#session.once('goaway', callback)
    this.#session.once('close', callback)
  }

  /** Returns how to cancel it. */
  begin({ path, headers, message }: UnaryRequest, answer: UnaryAnswer): () => void {
    try {
      const stream = this.#session.request({ ...headers, ':method': 'POST', ':path': path })
      const call = new UnaryCall(stream, answer, () => this.#isBroken)
      call.send(message)
      return () => call.cancel()
    } catch (error) {
      const failure = new Failure(status.UNAVAILABLE, `Failed to start HTTP/2 stream: ${(error as Error).message}`)
      queueMicrotask(() => answer.ended(failure))
      return () => {}
    }
  }

  /** Whatever is under way fails. */
  close(): void {
    this.#session.destroy()
    // Node would wait for the other side to end it too, which may never do so.
    this.#socket.destroy()
  }
}

class UnaryCall {
  readonly #stream: ClientHttp2Stream
  readonly #answer: UnaryAnswer
  readonly #isBroken: () => boolean
  readonly #chunks: Buffer[] = []
  #size = 0
  #isAnswered = false
  #isCancelled = false
  /** What the headers or the trailers say. */
  #status: { readonly code: number; readonly message: string } | undefined
  #error: Error | undefined

  /** `isBroken`: that of the connection. */
  constructor(stream: ClientHttp2Stream, answer: UnaryAnswer, isBroken: () => boolean) {
    this.#stream = stream
    this.#answer = answer
    this.#isBroken = isBroken
    stream.on('response', (headers) => this.#hear(headers))
    stream.on('data', (chunk: Buffer) => this.#take(chunk))
    stream.on('trailers', (headers) => this.#hear(headers))
    stream.on('error', (error) => {
      this.#error = error
    })
    stream.on('close', () => answer.ended(this.#isAnswered ? undefined : this.#failure()))
  }

  send(message: Buffer): void {
    const bytes = Buffer.allocUnsafe(PREFIX_BYTES + message.length)
    bytes.writeUInt8(0, 0)
    bytes.writeUInt32BE(message.length, 1)
    message.copy(bytes, PREFIX_BYTES)
    this.#stream.end(bytes)
  }

  cancel(): void {
    this.#isCancelled = true
    this.#stream.close(constants.NGHTTP2_CANCEL)
  }

  /** etcd answers only what it has done. The status comes after that, and says nothing more: where it is late, or lost, the answer holds. */
  #take(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#size += chunk.length
    if (this.#isAnswered || this.#size < PREFIX_BYTES) return
    if (this.#chunks[0]!.length < PREFIX_BYTES) this.#chunks.splice(0, Infinity, Buffer.concat(this.#chunks))
    const end = PREFIX_BYTES + this.#chunks[0]!.readUInt32BE(1)
    if (this.#size < end) return
    this.#isAnswered = true
    const [first, ...more] = this.#chunks
    this.#answer.answered((more.length === 0 ? first! : Buffer.concat(this.#chunks)).subarray(PREFIX_BYTES, end))
  }

  #hear(headers: IncomingHttpHeaders & { ':status'?: number }): void {
    const { ':status': httpStatus = 200, 'grpc-status': code, 'grpc-message': message } = headers
    if (code !== undefined) this.#status = { code: Number(code), message: String(message ?? '') }
    else if (httpStatus !== 200)
      this.#status = { code: status.UNAVAILABLE, message: `whoever is there is not etcd: HTTP status ${httpStatus}` }
  }

  #failure(): Failure {
    if (this.#isCancelled) return new Failure(status.CANCELLED, 'cancelled by this client')
    if (this.#status) return new Failure(this.#status.code, decoded(this.#status.message))
    // Where the connection has ended by an error, Node gives every stream the code of that.
    if (this.#stream.rstCode === constants.NGHTTP2_REFUSED_STREAM && !this.#isBroken())
      return new Failure(status.UNAVAILABLE, 'Stream refused by server')
    return new Failure(status.UNAVAILABLE, this.#error?.message ?? 'the connection was lost')
  }
}

/** As gRPC writes a message into a header: what is not plain ASCII is percent-encoded. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
