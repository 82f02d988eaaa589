import type { ErrorBody, ListenFrame, Who } from '@baton-lock/protocol'
import type { Service, Timers } from '@baton-lock/service'
import type { WebSocket } from 'ws'
import type { Asker, Guard } from '../auth/guard.ts'
import { checkDepth } from '../http/json.ts'
import { afterLinger } from '../http/linger.ts'
import type { ServerLimits } from '../limits.ts'
import type { RequestLog } from '../logging/request-log.ts'
import type { Accounts } from '../scheduling/accounts.ts'
import type { FairQueue } from '../scheduling/fair-queue.ts'
import type { OtherStream, Streams } from '../streams/streams.ts'
import { Held, type Unsent } from '../streams/unsent.ts'
import type { Admission, Admitted } from '../v1/admission.ts'
import { requestOf } from '../v1/check.ts'
import { Connection, TOO_SLOW, type Wire } from './connection.ts'

export interface ClientOptions {
  readonly service: Service
  readonly guard: Guard
  readonly admission: Admission
  readonly streams: Streams
  readonly limits: ServerLimits
  readonly timers: Timers
  readonly requestLog: RequestLog
  readonly unsent: Unsent
  readonly queue: FairQueue
  readonly accounts: Accounts
  /** Names the stream in the log. */
  readonly id: string
  /** Called when the client breaks a rule. */
  readonly onBroken: () => void
}

/** How often a client is pinged. */
export const HEARTBEAT_MS = 15_000
/** How many pings a client may send between two beats. It needs none: the server sends them. */
const PINGS_MAX = 1_000
/** A client that has sent nothing for so many beats is gone, whatever TCP says. */
const BEATS_MAX = 3

/** The close codes of WebSocket for each way to end one. */
const CODES = { broken: 1008, slow: 1013, failed: 1011 } as const
/** The server goes, and may come back. */
const SERVICE_RESTART = 1012
/** A close frame has no room for more. */
const REASON_CHARS = 120

/** A client by its WebSocket: signs of life, what it leaves unread, and how it ends. Its frames go to the connection. */
export class Client implements Wire, OtherStream {
  readonly #webSocket: WebSocket
  readonly #asker: Asker
  readonly #options: ClientOptions
  readonly #connection: Connection
  readonly #held = new Held({ cut: () => this.#close('slow', TOO_SLOW) })
  /** Bytes that will be told later. */
  #waiting = 0
  #silentBeats = 0
  #pings = 0
  #isBroken = false

  constructor(webSocket: WebSocket, asker: Asker, options: ClientOptions) {
    this.#webSocket = webSocket
    this.#asker = asker
    this.#options = options
    const account = options.accounts.ofStream(asker)
    this.#connection = new Connection({
      service: options.service,
      wire: this,
      timers: options.timers,
      admit: (input, number) => this.#admit(input, number),
      checkListen: (frame) => this.#checkListen(frame),
      failure: (error, number) => this.#failure(error, number),
      unreadBytes: options.limits.streamBytes,
      replyBytes: options.limits.replyBytes,
      onWaiting: (change) => {
        this.#waiting += change
        this.#report()
      },
      inTurn: (work) => options.queue.run(account, work),
    })
    webSocket.on('message', (data, isBinary) => {
      this.#silentBeats = 0
      if (isBinary) this.end('broken', 'frames are text')
      else this.#connection.receive(String(data))
    })
    webSocket.on('pong', () => {
      this.#silentBeats = 0
    })
    webSocket.on('ping', () => this.#takePing())
    webSocket.on('close', () => {
      this.#connection.close()
      options.unsent.report(this.#held, 0)
    })
    // Its bytes are not WebSocket any more, or its peer has gone. `ws` has told it so, if it is still there.
    webSocket.on('error', () => this.#breakOff())
  }

  send(text: string): void {
    this.#webSocket.send(text, this.#taken)
    this.#report()
  }

  get unsent(): number {
    return this.#webSocket.bufferedAmount
  }

  pause(): void {
    this.#webSocket.pause()
  }

  resume(): void {
    this.#webSocket.resume()
  }

  end(how: 'broken' | 'slow' | 'failed', why: string): void {
    if (how === 'slow') this.#options.unsent.cut(this.#held)
    else this.#close(how, why)
  }

  move(): void {
    this.#connection.drain()
  }

  leave(): void {
    this.#webSocket.close(SERVICE_RESTART, 'the server is about to stop')
  }

  cut(): void {
    this.#webSocket.terminate()
  }

  /** Its token is no longer valid: what it has sent and was not begun is dropped. */
  revoke(why: string): void {
    this.#webSocket.close(CODES.broken, why.slice(0, REASON_CHARS))
    this.#connection.break()
    afterLinger(() => this.#webSocket.terminate())
  }

  beat(): void {
    this.#pings = 0
    if (++this.#silentBeats > BEATS_MAX) this.#webSocket.terminate()
    else this.#webSocket.ping()
  }

  #admit(input: unknown, number: number): Admitted | Who | ErrorBody {
    const { admission, id } = this.#options
    try {
      checkDepth(input)
      return admission.admit(this.#asker, requestOf(input), () => ({ stream: id, request: number }))
    } catch (error) {
      return this.#failure(error, number)
    }
  }

  #checkListen({ scope }: ListenFrame) {
    const { guard, streams } = this.#options
    const namespace = scope.of === 'all' ? scope.namespace : undefined
    const { actsFor } = guard.checkScope(this.#asker, { scope, namespace })
    return { actsFor, leave: streams.watch(scope) }
  }

  #failure(error: unknown, number?: number): ErrorBody {
    const { requestLog, id: stream } = this.#options
    const name = number === undefined ? { stream } : { stream, request: number }
    return requestLog.failed(error, () => requestLog.named(name))
  }

  readonly #taken = (): void => {
    this.#report()
    this.#connection.drained()
  }

  #report(): void {
    this.#options.unsent.report(this.#held, this.#waiting + this.#webSocket.bufferedAmount)
  }

  /** `ws` has answered each by a pong, which may be left unread like anything else. */
  #takePing(): void {
    this.#taken()
    if (++this.#pings > PINGS_MAX) this.end('broken', `more than ${PINGS_MAX} pings in ${HEARTBEAT_MS / 1_000} s`)
  }

  #close(how: keyof typeof CODES, why: string): void {
    this.#webSocket.close(CODES[how], why.slice(0, REASON_CHARS))
    if (how === 'broken') this.#breakOff()
    else this.#webSocket.terminate()
  }

  /** Nothing more is read: the client may go on sending for ever. */
  #breakOff(): void {
    if (this.#isBroken) return
    this.#isBroken = true
    this.#options.onBroken()
    this.#connection.break()
    setImmediate(() => this.#webSocket.pause())
    afterLinger(() => this.#webSocket.terminate())
  }
}
