import type { Acquire, Facts } from '@baton-lock/core'
import { type ErrorBody, errorBody, type Request, type ServiceRequest } from '@baton-lock/protocol'
import { requestSchemas } from '@baton-lock/protocol/schemas'
import { defaultLimits } from '@baton-lock/server/limits'
import type { PeerStream, Wire } from '@baton-lock/server/web-socket/peer-stream'
import {
  type Asked,
  isStoreUnavailable,
  ReadTurns,
  type Scope,
  Service,
  type Sink,
  storeErrorCode,
  type Timers,
} from '@baton-lock/service'
import type { Address, Store } from '@baton-lock/store/store'
import { newPeerStream } from '@baton-lock/test-support/peer-stream'
import { Process, type Scheduler } from './scheduler.ts'

/** Few, so that a client that does not read is cut off now and then. */
const UNREAD_BYTES = 16 * 1024

/** A server process: the real service, started and killed at will. */
export class SimulatedServer {
  readonly name: string
  readonly #scheduler: Scheduler
  readonly #openStore: (process: Process) => Store
  readonly #waiterLimit: number
  #process!: Process
  #service!: Service
  #timers!: Timers

  constructor({ name, scheduler, openStore, waiterLimit }: SimulatedServerOptions) {
    this.name = name
    this.#waiterLimit = waiterLimit
    this.#scheduler = scheduler
    this.#openStore = openStore
    this.start()
  }

  get process(): Process {
    return this.#process
  }

  get service(): Service {
    return this.#service
  }

  start(): void {
    const process = new Process(this.name, this.#scheduler)
    this.#process = process
    const timers: Timers = { after: (delayMs, callback) => this.#scheduler.after(process, delayMs, callback) }
    this.#timers = timers
    const waiterLimit = this.#waiterLimit
    // The event loop of whoever simulates has nothing to do with it: no read ever waits.
    const readTurns = new ReadTurns({ nowMs: () => 0, later: queueMicrotask })
    this.#service = new Service({ store: this.#openStore(process), timers, eventLimit: 64, waiterLimit, readTurns })
  }

  crash(): void {
    this.#process.kill()
    void this.#service.close()
  }

  /** A client has come by a stream: the real stream, over this wire. */
  accept(wire: Wire): PeerStream {
    const limits = { ...defaultLimits, streamBytes: UNREAD_BYTES }
    return newPeerStream({ service: this.#service, wire, timers: this.#timers, limits })
  }

  /** An ask as the classic paths give it. */
  async classic({ namespace, resource, ...command }: Acquire & Address, facts?: Facts): Promise<object> {
    try {
      return await this.#service.command({ namespace, resource }, command, facts)
    } catch (error) {
      return failure(error)
    }
  }

  async answer(input: { type: Request['type'] }, facts?: Facts): Promise<object> {
    const asked = checked(input)
    if (!('request' in asked)) return asked
    try {
      return await this.#service.call(asked.request, facts)
    } catch (error) {
      return failure(error)
    }
  }

  listen(scope: Scope, sink: Sink, lastId?: string): Promise<() => void> {
    return this.#service.listen(scope, sink, { lastId })
  }
}

interface SimulatedServerOptions {
  readonly name: string
  readonly scheduler: Scheduler
  readonly openStore: (process: Process) => Store
  readonly waiterLimit: number
}

function checked(input: unknown): Asked | ErrorBody {
  const result = requestSchemas[(input as Request).type].safeParse(input)
  return result.success
    ? { request: result.data as ServiceRequest, facts: {} }
    : errorBody('bad-request', result.error.message)
}

function failure(error: unknown): ErrorBody {
  if (isStoreUnavailable(error)) return errorBody('store-unavailable')
  if (storeErrorCode(error) === 'unknown-outcome') return errorBody('unknown-outcome')
  throw error
}
