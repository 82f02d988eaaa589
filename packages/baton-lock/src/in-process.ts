import { ArgumentError, type Baton, BatonError, type OpenOptions, UnavailableError } from '@baton-lock/client'
import {
  Client,
  type InputOf,
  inOwnContext,
  type OnReply,
  type StreamHandlers,
  systemClientClock,
  systemRandom,
  type Transport,
  tracerFor,
  warn,
} from '@baton-lock/client/internal'
import {
  type ErrorBody,
  errorBody,
  issuesText,
  LIMITS,
  type ReplyOf,
  type RequestOf,
  type RequestType,
  type ServiceRequest,
  type StreamScope,
  type Who,
  type WireEvent,
} from '@baton-lock/protocol'
import { requestSchemas } from '@baton-lock/protocol/schemas'
import { Service, systemClock } from '@baton-lock/service'
import { storeErrorCode } from '@baton-lock/store/store'
import { openStore } from './store-table.ts'

/** See `open`. */
export async function openInProcess(storeUrl: string, options: OpenOptions = {}): Promise<Baton> {
  const clock = systemClock()
  const transport = new InProcessTransport(
    async () => new Service({ store: await openStore(storeUrl, { clock }), resultLimit: options.resultLimit }),
    { onClose: () => clock.stop(), losesNothing: true },
  )
  await transport.service().catch((error) => {
    if (storeErrorCode(error) === 'store-unreachable' && options.whenUnavailable !== 'fail') return
    clock.stop()
    throw unusable(error)
  })
  const notice = options.onNotice ?? warn
  const findTracer = await tracerFor(options.tracer)
  const clientClock = findTracer ? inOwnContext(systemClientClock()) : systemClientClock()
  return new Client(transport, { clock: clientClock, notice, random: systemRandom, findTracer }, options)
}

interface InProcessOptions {
  readonly onClose?: () => void
  /** Every reply reaches the client, so no request is ever repeated. */
  readonly losesNothing?: boolean
}

/** Calls a service directly, as a server would: requests are checked, and replies and events are copies. */
export class InProcessTransport implements Transport {
  readonly isDirect = true
  readonly #open: () => Promise<Service>
  readonly #onClose: () => void
  readonly #losesNothing: boolean
  #opening: Promise<Service> | undefined
  #service: Service | undefined
  #closed = false

  constructor(open: () => Promise<Service>, { onClose = () => {}, losesNothing = false }: InProcessOptions = {}) {
    this.#open = open
    this.#onClose = onClose
    this.#losesNothing = losesNothing
  }

  /** Opens the store, unless it is open. If that fails, the next call tries again. */
  service(): Promise<Service> {
    if (this.#closed) return Promise.reject(new UnavailableError('the store was closed'))
    this.#opening ??= this.#open().then(
      (service) => {
        this.#service = service
        return service
      },
      (error) => {
        this.#opening = undefined
        throw error
      },
    )
    return this.#opening
  }

  /** The store has time limits of its own. */
  send<Type extends RequestType>(request: InputOf<Type>, timeoutMs: number, onReply: OnReply<Type>): void {
    const service = this.#service
    if (!service) {
      this.service().then(
        () => this.send(request, timeoutMs, onReply),
        (error) => onReply(undefined, asUnavailable(error)),
      )
      return
    }
    const isOfClient = MADE_BY_CLIENT.has(request.type)
    const checked = isOfClient ? completed(request) : checkedOf(request)
    if ('status' in checked) {
      onReply(checked as ReplyOf<Type>)
      return
    }
    const onAnswer = (_: number, reply: ReplyOf<RequestType> | undefined, error?: unknown) => {
      if (reply?.status === 'released' && this.#losesNothing) service.acknowledge(checked as RequestOf<'release'>)
      if (!reply) onReply(undefined, asUnavailable(error))
      else onReply((isOfClient && isFlat(reply) ? reply : structuredClone(reply)) as ReplyOf<Type>)
    }
    const asked = [{ request: checked, facts: NOTHING_KNOWN }]
    void service.callAll(asked, onAnswer, isOfClient ? undefined : service.budget())
  }

  listen(scope: StreamScope, { onEvent, onEnd }: StreamHandlers, { lastId }: { readonly lastId?: string } = {}) {
    let closed = false
    const pass = (event: WireEvent, id?: string) => closed || onEvent(structuredClone(event), id)
    const listening = this.service().then((service) => service.listen(scope, pass, { lastId }))
    listening.catch((error) => closed || onEnd({ reason: error instanceof Error ? error.message : String(error) }))
    return {
      close() {
        closed = true
        void listening.then(
          (stop) => stop(),
          () => {},
        )
      },
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#service = undefined
    const service = await this.#opening?.catch(() => undefined)
    await service?.close()
    this.#onClose()
  }
}

/**
 * The client makes these of options that it has checked, and only the ttl has a default. Schemas would make an acquire and its
 * release half as slow again.
 */
const MADE_BY_CLIENT: ReadonlySet<RequestType> = new Set(['acquire', 'release', 'cancel'])

const NOTHING_KNOWN = {}
/** Without a server there are no roles. */
const ANYBODY: Who = { status: 'who', role: 'anybody' }

function completed(request: InputOf<RequestType>): ServiceRequest {
  if (request.type === 'acquire') request.ttlMs ??= LIMITS.ttlDefaultMs
  return request as ServiceRequest
}

/** The request with its defaults, or the reply if it needs no service. */
function checkedOf(request: InputOf<RequestType>): ServiceRequest | ErrorBody | Who {
  const { success, error, data } = requestSchemas[request.type].safeParse(request)
  if (!success) return errorBody('bad-request', issuesText(error.issues))
  return data.type === 'get-who' ? ANYBODY : data
}

/** It has no part that the store keeps. */
function isFlat(reply: ReplyOf<RequestType>): boolean {
  return !('result' in reply || 'progress' in reply || 'previous' in reply)
}

/** Everything that is thrown for an unusable store or URL has a code. */
function unusable(error: unknown): unknown {
  const known = asUnavailable(error)
  if (known !== error || !(error instanceof Error)) return known
  if (error instanceof TypeError) return new ArgumentError(error.message, { cause: error })
  return new BatonError('store-unusable', error.message, { cause: error })
}

function asUnavailable(error: unknown): unknown {
  return error instanceof Error && storeErrorCode(error) !== undefined
    ? new UnavailableError(error.message, { cause: error })
    : error
}
