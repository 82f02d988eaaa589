import {
  type ChannelInterface,
  Client,
  type ClientDuplexStream,
  type ClientOptions,
  connectivityState,
  Metadata,
  status,
} from '@grpc/grpc-js'
import type { Timing } from '../../timing.ts'
import type { EtcdTarget } from '../etcd-url.ts'
import { Failure, Late, wordsOf } from './failures.ts'
import type { Rpc } from './messages.ts'
import { afterListening } from './patience.ts'
import { type Reason, reasonOf } from './reasons.ts'
import { securityOf } from './security.ts'

/** To connect takes no longer than this, or another endpoint is tried. */
const CONNECT_MS = 1_000
const MESSAGE_BYTES = 128 * 1024 * 1024

const OPTIONS: ClientOptions = {
  // etcd sends whoever pings more often than every 5 s away (GOAWAY, too_many_pings), and whoever pings without a stream.
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 3_000,
  'grpc.keepalive_permit_without_calls': 0,
  'grpc.max_receive_message_length': MESSAGE_BYTES,
  'grpc.max_send_message_length': MESSAGE_BYTES,
  'grpc-node.flow_control_window': 1024 * 1024,
  // What is tried again, and when, and where, is decided here.
  'grpc.enable_retries': 0,
  'grpc.use_local_subchannel_pool': 1,
  'grpc.service_config_disable_resolution': 1,
  'grpc.enable_http_proxy': 0,
  'grpc.enable_channelz': 0,
  'grpc.client_idle_timeout_ms': 2 ** 31 - 1,
}

const asIs = (bytes: Buffer) => bytes
const NOTHING = {}

/** No connection came about, and why. */
export class NotConnected extends Error {
  override readonly name = 'NotConnected'
  readonly reason: Reason

  constructor(reason: Reason) {
    super(reason.text)
    this.reason = reason
  }
}

export type Stream<Request, Response> = ClientDuplexStream<Request, Response>

/** A connection to one endpoint. It is lost once and for all: another one is made then. */
export class Connection {
  readonly endpoint: string
  readonly #client: Client
  readonly #channel: ChannelInterface
  readonly #timing: Timing
  readonly #onEnd = new Set<(why: Error) => void>()
  /** How to cancel each call and stream. */
  readonly #underWay = new Set<() => void>()
  readonly #idle: Promise<void>
  #becomeIdle: () => void = () => {}
  #isOver = false

  /** Rejects with `NotConnected`. */
  static async open(endpoint: string, target: EtcdTarget, timing: Timing): Promise<Connection> {
    const client = newClient(endpoint, target)
    try {
      await ready(client, timing)
      return new Connection(endpoint, client, timing)
    } catch (error) {
      client.close()
      throw error
    }
  }

  private constructor(endpoint: string, client: Client, timing: Timing) {
    this.endpoint = endpoint
    this.#client = client
    this.#channel = client.getChannel()
    this.#timing = timing
    this.#idle = new Promise((resolve) => {
      this.#becomeIdle = resolve
    })
    this.#channel.watchConnectivityState(connectivityState.READY, Number.POSITIVE_INFINITY, () =>
      this.retire('the connection was lost'),
    )
  }

  /** Calls back when it is lost or left for another. */
  onEnd(callback: (why: Error) => void): () => void {
    this.#onEnd.add(callback)
    return () => this.#onEnd.delete(callback)
  }

  /**
   * Rejects with a `Failure`, or with `Late`. Past `Client`, whose layers for what is not used here (interceptors, a stack for every call) take
   * a fifth of the time of a call.
   */
  ask<Request, Response>(
    { path, encode, decode }: Rpc<Request, Response>,
    request: Request,
    { metadata, timeoutMs }: { readonly metadata: Metadata; readonly timeoutMs: number },
  ): Promise<Response> {
    const bytes = encode(request)
    return new Promise((resolve, reject) => {
      let isAnswered = false
      const call = this.#channel.createCall(path, Number.POSITIVE_INFINITY, null, null, null)
      const cancel = () => call.cancelWithStatus(status.CANCELLED, 'cancelled by this client')
      const cancelTimer = afterListening(this.#timing, timeoutMs, () => {
        reject(new Late())
        cancel()
      })
      this.#underWay.add(cancel)
      call.start(metadata, {
        onReceiveMetadata: () => {},
        // etcd answers only what it has done. The status comes after that, and says nothing more: where it is late, or lost, the answer holds.
        onReceiveMessage: (message) => {
          isAnswered = Boolean(message)
          if (!isAnswered) return
          try {
            resolve(decode(message))
          } catch (error) {
            reject(error)
          }
        },
        onReceiveStatus: ({ code, details }) => {
          cancelTimer()
          this.#ended(cancel)
          if (!isAnswered) reject(new Failure(code, details))
        },
      })
      call.startRead()
      call.sendMessageWithContext({}, bytes)
      call.halfClose()
    })
  }

  stream<Request, Response>(
    { path, encode, decode }: Rpc<Request, Response>,
    metadata: Metadata,
  ): Stream<Request, Response> {
    const stream = this.#client.makeBidiStreamRequest(path, encode, decode, metadata)
    const cancel = () => stream.cancel()
    this.#underWay.add(cancel)
    stream.on('error', () => this.#ended(cancel))
    stream.on('end', () => this.#ended(cancel))
    return stream
  }

  /** No more is begun on it: streams are told to end, and what was asked may still be answered. */
  retire(why: string): void {
    if (this.#isOver) return
    this.#isOver = true
    for (const callback of [...this.#onEnd]) callback(new Error(why))
    this.#onEnd.clear()
    this.#closeIfDone()
  }

  /** Whatever is under way fails. */
  cancel(): void {
    for (const cancel of this.#underWay) cancel()
    this.retire('the connection was closed')
  }

  /** Resolves when it is over, and nothing is under way any more. */
  idle(): Promise<void> {
    return this.#idle
  }

  #ended(cancel: () => void): void {
    this.#underWay.delete(cancel)
    if (this.#isOver) this.#closeIfDone()
  }

  #closeIfDone(): void {
    if (this.#underWay.size > 0) return
    this.#client.close()
    this.#becomeIdle()
  }
}

/** Resolves when the channel is ready; its first failure is the last. */
function ready(client: Client, timing: Timing): Promise<void> {
  const channel = client.getChannel()
  return new Promise((resolve, reject) => {
    let isSettled = false
    const settle = (end: () => void) => {
      if (isSettled) return
      isSettled = true
      cancelTimer()
      end()
    }
    const fail = (reason: Reason) => settle(() => reject(new NotConnected(reason)))
    const cancelTimer = afterListening(timing, CONNECT_MS, () =>
      fail({ text: `no answer within ${CONNECT_MS} ms`, isLasting: false }),
    )
    const look = () => {
      if (isSettled) return
      const state = channel.getConnectivityState(true)
      if (state === connectivityState.READY) return settle(resolve)
      if (state === connectivityState.TRANSIENT_FAILURE) return askWhy(client, fail)
      channel.watchConnectivityState(state, Number.POSITIVE_INFINITY, () => process.nextTick(look))
    }
    look()
  })
}

/** A channel does not say why it has failed; a call that it does not even begin does. */
function askWhy(client: Client, told: (reason: Reason) => void): void {
  client.makeUnaryRequest('/', asIs, asIs, Buffer.alloc(0), new Metadata(), NOTHING, (error) => {
    told(reasonOf(wordsOf(error)))
  })
}

function newClient(endpoint: string, target: EtcdTarget): Client {
  try {
    const { credentials, options } = securityOf(endpoint, target)
    return new Client(`dns:${endpoint}`, credentials, { ...OPTIONS, ...options })
  } catch (error) {
    throw new NotConnected({ ...reasonOf(wordsOf(error)), isLasting: true })
  }
}
