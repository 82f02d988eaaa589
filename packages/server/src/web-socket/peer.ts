import type { WebSocket } from 'ws'
import { afterLinger } from '../http/linger.ts'
import type { Accounts } from '../scheduling/accounts.ts'
import type { OtherStream } from '../streams/streams.ts'
import { Held, type Unsent } from '../streams/unsent.ts'
import { PeerStream, type PeerStreamOptions, TOO_SLOW, type Wire } from './peer-stream.ts'

export interface PeerOptions extends Omit<PeerStreamOptions, 'wire' | 'account'> {
  readonly unsent: Unsent
  readonly accounts: Accounts
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

/** A client by its WebSocket: signs of life, what it leaves unread, and how it ends. Its frames go to its stream. */
export class Peer implements Wire, OtherStream {
  readonly #webSocket: WebSocket
  readonly #options: PeerOptions
  readonly #stream: PeerStream
  readonly #held = new Held({ cut: () => this.#close('slow', TOO_SLOW) })
  /** Bytes that will be told later. */
  #waiting = 0
  #silentBeats = 0
  #pings = 0
  #isBroken = false

  constructor(webSocket: WebSocket, options: PeerOptions) {
    this.#webSocket = webSocket
    this.#options = options
    this.#stream = new PeerStream({ ...options, wire: this, account: options.accounts.ofStream(options.asker) })
    webSocket.on('message', (data, isBinary) => {
      this.#silentBeats = 0
      if (isBinary) this.end('broken', 'frames are text')
      else this.#stream.receive(String(data))
    })
    webSocket.on('pong', () => {
      this.#silentBeats = 0
    })
    webSocket.on('ping', () => this.#takePing())
    webSocket.on('close', () => {
      this.#stream.close()
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

  wait(change: number): void {
    this.#waiting += change
    this.#report()
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
    this.#stream.drain()
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
    this.#stream.break()
    afterLinger(() => this.#webSocket.terminate())
  }

  beat(): void {
    this.#pings = 0
    if (++this.#silentBeats > BEATS_MAX) this.#webSocket.terminate()
    else this.#webSocket.ping()
  }

  readonly #taken = (): void => {
    this.#report()
    this.#stream.drained()
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
    this.#stream.break()
    setImmediate(() => this.#webSocket.pause())
    afterLinger(() => this.#webSocket.terminate())
  }
}
