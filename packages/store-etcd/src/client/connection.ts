import type { OutgoingHttpHeaders } from 'node:http2'
import type { Timing } from '@baton-lock/store/timing'
import { Client, type ClientDuplexStream, type ClientOptions, connectivityState, Metadata } from '@grpc/grpc-js'
import type { EtcdTarget } from '../etcd-url.ts'
import { Late, wordsOf } from './failures.ts'
import type { Rpc } from './messages.ts'
import { afterListening } from './patience.ts'
import { type Reason, reasonOf } from './reasons.ts'
import { securityOf } from './security.ts'
import { UnaryCalls } from './unary-calls.ts'

/** Each of its two connections takes no longer than this, or another endpoint is tried. */
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

/**
 * To one endpoint: streams go over a channel of grpc-js, calls that are answered once over a connection of their own. Where either is lost both are, once and
 * for all: others are made then.
 */
export class Connection {
  readonly endpoint: string
  readonly #client: Client
  readonly #unary: UnaryCalls
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
      const unary = await UnaryCalls.open(endpoint, target, { timing, limitMs: CONNECT_MS }).catch((error) => {
        throw new NotConnected(reasonOf(wordsOf(error)))
      })
      if (client.getChannel().getConnectivityState(false) !== connectivityState.READY) {
        unary.close()
        throw new NotConnected({ text: 'the connection was lost', isLasting: false })
      }
      return new Connection(endpoint, { client, unary, timing })
    } catch (error) {
      client.close()
      throw error
    }
  }

  private constructor(endpoint: string, { client, unary, timing }: ConnectionOptions) {
    this.endpoint = endpoint
    this.#client = client
    this.#unary = unary
    this.#timing = timing
    this.#idle = new Promise((resolve) => {
      this.#becomeIdle = resolve
    })
    const lost = () => this.retire('the connection was lost')
    client.getChannel().watchConnectivityState(connectivityState.READY, Number.POSITIVE_INFINITY, lost)
    unary.onLost(lost)
  }

  /** Calls back when it is lost or left for another. */
  onEnd(callback: (why: Error) => void): () => void {
    this.#onEnd.add(callback)
    return () => this.#onEnd.delete(callback)
  }

  /** Rejects with a `Failure`, or with `Late`. */
  ask<Request, Response>(
    { path, encode, decode }: Rpc<Request, Response>,
    request: Request,
    { headers, timeoutMs }: { readonly headers: OutgoingHttpHeaders; readonly timeoutMs: number },
  ): Promise<Response> {
    const message = encode(request)
    return new Promise((resolve, reject) => {
      const cancelTimer = afterListening(this.#timing, timeoutMs, () => {
        reject(new Late())
        cancel()
      })
      const cancel = this.#unary.begin(
        { path, headers, message },
        {
          answered: (answer) => {
            try {
              resolve(decode(answer))
            } catch (error) {
              reject(error)
            }
          },
          ended: (failure) => {
            cancelTimer()
            this.#ended(cancel)
            if (failure) reject(failure)
          },
        },
      )
      this.#underWay.add(cancel)
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
    this.#unary.close()
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
    this.#unary.close()
    this.#becomeIdle()
  }
}

interface ConnectionOptions {
  readonly client: Client
  readonly unary: UnaryCalls
  readonly timing: Timing
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
