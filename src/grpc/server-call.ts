import type { Method, SingleCall, StreamCall } from './call.ts'
import type { Inbound } from './inbound.ts'
import type { Outbound } from './outbound.ts'
import { STATUS, type Status, trailersOf } from './status.ts'

const NOTHING = new Uint8Array(0)

interface CallOptions {
  readonly path: string
  readonly method: Method
  readonly inbound: Inbound
  readonly outbound: Outbound
}

/** A call and its stream: what the handler sees of it, and what the connection tells it. */
export class ServerCall implements SingleCall, StreamCall {
  readonly path: string
  readonly inbound: Inbound
  readonly outbound: Outbound
  request: Uint8Array = NOTHING
  readonly #method: Method
  /** The client sends nothing more. */
  isHalfClosed = false
  #state: 'open' | 'ended' | 'cancelled' = 'open'
  #listeners: (() => void)[] | undefined

  constructor({ path, method, inbound, outbound }: CallOptions) {
    this.path = path
    this.#method = method
    this.inbound = inbound
    this.outbound = outbound
  }

  get isCancelled(): boolean {
    return this.#state === 'cancelled'
  }

  onCancel(listener: () => void): void {
    if (this.#state === 'cancelled') return void listener()
    if (this.#state === 'ended') return
    this.#listeners ??= []
    this.#listeners.push(listener)
  }

  messages(): AsyncIterable<Uint8Array> {
    // Without `return`: to leave a loop over it changes nothing.
    return { [Symbol.asyncIterator]: () => ({ next: () => this.inbound.next() }) }
  }

  send(...pieces: readonly Uint8Array[]): boolean {
    if (this.#state !== 'open') return false
    this.outbound.send(pieces)
    return !this.outbound.isEnough
  }

  drained(): Promise<void> {
    return this.outbound.drained()
  }

  end(): void {
    this.#end({ code: STATUS.ok, message: '' })
  }

  fail(status: Status): void {
    this.#end(status)
  }

  /** The head of the request has come. */
  open(): void {
    if (this.#method.kind === 'stream') this.#run(this.#method.handle)
  }

  receive(bytes: Buffer, frameBytes: number): void {
    const refusal = this.inbound.receive(bytes, frameBytes)
    if (refusal) return void this.#refuse(refusal)
    if (this.#method.kind === 'single' && this.inbound.waiting.length > 1) this.#refuse(NOT_ONE)
  }

  halfClose(): void {
    this.isHalfClosed = true
    const refusal = this.inbound.halfClose()
    if (this.#state !== 'open') return
    if (refusal) return void this.#refuse(refusal)
    if (this.#method.kind === 'stream') return
    const [request] = this.inbound.waiting
    if (request === undefined) return void this.#refuse(NOT_ONE)
    this.request = request
    this.#run(this.#method.handle)
  }

  /** The stream is reset, or the connection is gone: nothing can be said any more. */
  cancel(): void {
    this.#cancel()
    this.outbound.drop()
  }

  #run(handle: (call: SingleCall & StreamCall) => void | Promise<void>): void {
    try {
      const done = handle(this)
      if (done instanceof Promise) done.catch((error) => this.#failed(error))
    } catch (error) {
      this.#failed(error)
    }
  }

  #failed(error: unknown): void {
    this.fail({ code: STATUS.internal, message: error instanceof Error ? error.message : String(error) })
  }

  #end(status: Status): void {
    if (this.#state !== 'open') return
    this.#state = 'ended'
    this.inbound.close()
    this.#finish(status)
  }

  /** The client has broken a rule of gRPC: it is told so, and the handler that the call is over. */
  #refuse(status: Status): void {
    if (this.#state !== 'open') return
    this.#cancel()
    this.#finish(status)
  }

  #finish(status: Status): void {
    this.outbound.finish(trailersOf(status, { isOnly: !this.outbound.hasHead }))
  }

  #cancel(): void {
    if (this.#state !== 'open') return
    this.#state = 'cancelled'
    this.inbound.cancel()
    for (const listener of this.#listeners ?? []) listener()
  }
}

const NOT_ONE: Status = { code: STATUS.unimplemented, message: 'the method takes exactly one message' }
