import type { Baton, ConnectOptions } from '@baton-lock/client/api'
import { Client } from '@baton-lock/client/client'
import type { ClientClock } from '@baton-lock/client/clock'
import type { InputOf, OnReply, StreamHandlers, Transport } from '@baton-lock/client/connection/transport'
import { UnavailableError } from '@baton-lock/client/errors'
import type { ClientRandom } from '@baton-lock/client/random'
import type { Policy } from '@baton-lock/core'
import type { RequestType, StreamScope } from '@baton-lock/protocol'
import { Service } from '@baton-lock/service'
import { SimulatedClock, seededRandom } from '@baton-lock/store/conformance'
import { openMemoryStore } from '@baton-lock/store/memory'
import { InProcessTransport } from 'baton-lock/in-process'
import { onTestFinished } from 'vitest'

interface ClientWorld {
  readonly clock: SimulatedClock
  readonly service: Service
  client(options?: ConnectOptions): TestClient
}

export interface TestClient {
  readonly baton: Baton
  readonly wire: Wire
  readonly notices: string[]
  /** Moves one of the client's clocks alone: a jump of the wall clock, or a monotonic one that others do not share. */
  readonly skew: { monoMs: number; wallMs: number }
}

/** Real clients on a real service, in one process, in simulated time, over wires that fail as told. */
export function newClientWorld({ policy }: { policy?: Policy } = {}): ClientWorld {
  const clock = new SimulatedClock()
  const service = new Service({ store: openMemoryStore({ clock, ...(policy && { policy }) }), timers: clock })
  onTestFinished(() => service.close())
  let seed = 1
  return {
    clock,
    service,
    client(options = {}) {
      const skew = { monoMs: 0, wallMs: 0 }
      const notices: string[] = []
      const wire = new Wire(service, clock)
      const clientClock: ClientClock = {
        monoMs: () => clock.nowMs() + skew.monoMs,
        wallMs: () => clock.nowMs() + skew.wallMs,
        after: (delayMs, callback) => clock.after(delayMs, callback),
        stayAwake: () => () => {},
      }
      const environment = {
        clock: clientClock,
        random: testRandom(seed++),
        notice: (text: string) => notices.push(text),
        findTracer: () => options.tracer || undefined,
      }
      return { baton: new Client(wire, environment, options), wire, notices, skew }
    },
  }
}

function testRandom(seed: number): ClientRandom {
  const random = seededRandom(seed)
  let last = 0
  const id = () => `id-${seed}-${++last}`
  return { fraction: () => random.next(), id, name: id }
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into requests of every type.
type AnyRequest = any

/**
 * - `pass`: as it should be.
 * - `lose-request`, `lose-reply`: nobody hears of it, or nobody hears the answer; the caller waits until its time is up.
 * - `refuse-connection`: nobody is there, and that shows at once.
 * - `replyAfterMs`: it is carried out now, and answered later.
 * - `requestAfterMs`: it is carried out later, when its caller may have given it up.
 */
export type Fate =
  | 'pass'
  | 'lose-request'
  | 'lose-reply'
  | 'refuse-connection'
  | { readonly replyAfterMs: number; readonly requestAfterMs?: undefined }
  | { readonly requestAfterMs: number; readonly replyAfterMs?: undefined }

/** A client's wire. Keeps what was sent, and does to it what the test says. */
class Wire implements Transport {
  readonly sent: AnyRequest[] = []
  /** What becomes of a request. */
  fate: (request: AnyRequest) => Fate = () => 'pass'
  /** Whether a stream can be had. */
  streams = true
  /** How long events are under way. */
  eventsAfterMs = 0
  /** Streams that were opened so far. */
  opened = 0
  readonly #inner: Transport
  readonly #clock: SimulatedClock
  readonly #open = new Set<{ end(reason: string): void }>()

  constructor(service: Service, clock: SimulatedClock) {
    this.#inner = new InProcessTransport(async () => service)
    this.#clock = clock
  }

  get openStreams(): number {
    return this.#open.size
  }

  /** The requests of one type so far. */
  of(type: RequestType): AnyRequest[] {
    return this.sent.filter((request) => request.type === type)
  }

  /** Nobody is there from now on. */
  goDown(): void {
    this.fate = () => 'refuse-connection'
    this.streams = false
    this.cutStreams()
  }

  comeBack(): void {
    this.fate = () => 'pass'
    this.streams = true
  }

  cutStreams(): void {
    for (const stream of [...this.#open]) stream.end('cut by the test')
  }

  send<Type extends RequestType>(request: InputOf<Type>, timeoutMs: number, onReply: OnReply<Type>): void {
    this.sent.push(request)
    let isOver = false
    const reply: OnReply<Type> = (...what) => {
      if (!isOver) onReply(...what)
      isOver = true
    }
    // Later, but in the same moment of the simulated time.
    queueMicrotask(() => {
      const fate = this.fate(request)
      if (fate === 'refuse-connection') return reply(undefined, new UnavailableError('nobody is there'))
      const late = new UnavailableError(`nothing came for ${timeoutMs} ms`)
      this.#clock.after(timeoutMs, () => reply(undefined, late))
      if (fate === 'lose-request') return
      const { requestAfterMs = 0, replyAfterMs = 0 } = typeof fate === 'object' ? fate : {}
      this.#after(requestAfterMs, () =>
        this.#inner.send<Type>(request, timeoutMs, (...what) => {
          if (fate !== 'lose-reply') this.#after(replyAfterMs, () => reply(...what))
        }),
      )
    })
  }

  listen(scope: StreamScope, handlers: StreamHandlers, options?: { lastId?: string }): { close(): void } {
    this.opened++
    let inner: { close(): void } | undefined
    const close = () => {
      this.#open.delete(stream)
      inner?.close()
    }
    const stream = {
      end: (reason: string) => {
        close()
        handlers.onEnd({ reason })
      },
    }
    this.#open.add(stream)
    const onEvent: StreamHandlers['onEvent'] = (event, id) =>
      this.#after(this.eventsAfterMs, () => this.#open.has(stream) && handlers.onEvent(event, id))
    if (this.streams) inner = this.#inner.listen(scope, { ...handlers, onEvent }, options)
    else void Promise.resolve().then(() => this.#open.has(stream) && stream.end('nobody is there'))
    return { close }
  }

  #after(delayMs: number, act: () => void): void {
    if (delayMs === 0) act()
    else this.#clock.after(delayMs, act)
  }

  /** The service is the world's, and others are on it. */
  async close(): Promise<void> {
    this.cutStreams()
  }
}

/** A promise to be settled by the test: work that takes as long as the test says. */
export function work<Result = void>(): {
  readonly done: Promise<Result>
  finish(result: Result): void
  fail(error: unknown): void
} {
  let finish: (result: Result) => void = () => {}
  let fail: (error: unknown) => void = () => {}
  const done = new Promise<Result>((resolve, reject) => {
    finish = resolve
    fail = reject
  })
  return { done, finish, fail }
}

/** What a promise came to: its value, or the error that it was rejected with. Never rejects itself. */
export function outcomeOf<Value>(promise: Promise<Value>): Promise<Value | unknown> {
  return promise.catch((error: unknown) => error)
}
