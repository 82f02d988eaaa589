import {
  errorBody,
  LIMITS,
  type ReplyOf,
  type RequestOf,
  type RequestType,
  type ServiceRequest,
  type StreamScope,
  type Who,
  type WireEvent,
} from '../protocol/index.ts'
import { requestSchemas } from '../protocol/schemas.ts'
import { Service, systemClock } from '../service/index.ts'
import { StoreUnavailable, StoreUnreachable, UnknownOutcome } from '../stores/store.ts'
import { openStore } from '../stores/table.ts'
import type { Baton, OpenOptions } from './api.ts'
import { Client } from './client.ts'
import { systemClientClock } from './clock.ts'
import { ArgumentError, BatonError, UnavailableError } from './errors.ts'
import { systemRandom } from './random.ts'
import { tracerFor } from './traces/find-tracer.ts'
import { inOwnContext } from './traces/own-context.ts'
import {
  type CallOptions,
  type InputOf,
  promised,
  type StreamHandlers,
  type Tell,
  type Transport,
} from './transport.ts'
import { warn } from './warn.ts'

/** See `open`. */
export async function openInProcess(storeUrl: string, options: OpenOptions = {}): Promise<Baton> {
  const clock = systemClock()
  const transport = new InProcessTransport(
    async () => new Service({ store: await openStore(storeUrl, { clock }), resultLimit: options.resultLimit }),
    { onClose: () => clock.stop(), losesNothing: true },
  )
  await transport.service().catch((error) => {
    if (error instanceof StoreUnreachable && options.whenUnavailable !== 'fail') return
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
  readonly losesNothing?: boolean
}

/** Calls a service directly, as a server would: requests are checked, and what comes back is nobody else's. */
export class InProcessTransport implements Transport {
  readonly isDirect = true
  readonly #open: () => Promise<Service>
  readonly #onClose: () => void
  readonly #losesNothing: boolean
  #service: Promise<Service> | undefined
  #ready: Service | undefined
  #closed = false

  /** `losesNothing`: what it answers always arrives, so nothing is ever repeated. */
  constructor(open: () => Promise<Service>, { onClose = () => {}, losesNothing = false }: InProcessOptions = {}) {
    this.#open = open
    this.#onClose = onClose
    this.#losesNothing = losesNothing
  }

  /** Opened once; where that failed, again when it is next asked for. */
  service(): Promise<Service> {
    if (this.#closed) return Promise.reject(new UnavailableError('the store was closed'))
    this.#service ??= this.#open().then(
      (service) => {
        this.#ready = service
        return service
      },
      (error) => {
        this.#service = undefined
        throw error
      },
    )
    return this.#service
  }

  call<Type extends RequestType>(request: InputOf<Type>): Promise<ReplyOf<Type>> {
    return promised<Type>((tell) => this.send<Type>(request, {}, tell))
  }

  send<Type extends RequestType>(request: InputOf<Type>, _options: CallOptions, tell: Tell<Type>): void {
    const service = this.#ready
    if (!service || !UNCHECKED.has(request.type as RequestType)) {
      this.#callChecked<Type>(request).then(tell, (error) => tell(undefined, error))
      return
    }
    const asked = asChecked(request as InputOf<RequestType>)
    service.callAll([{ request: asked, facts: NOTHING_KNOWN }], (_, reply, error) => {
      if (reply?.status === 'released' && this.#losesNothing) service.acknowledge(asked as RequestOf<'release'>)
      if (reply) tell((isOwn(reply) ? reply : structuredClone(reply)) as ReplyOf<Type>)
      else tell(undefined, asUnavailable(error))
    })
  }

  async #callChecked<Type extends RequestType>(request: InputOf<Type>): Promise<ReplyOf<Type>> {
    const checked = requestSchemas[request.type as RequestType].safeParse(request)
    if (!checked.success) return errorBody('bad-request', checked.error.issues.map(issueText).join('; '))
    try {
      const service = await this.service()
      const { data } = checked
      if (data.type === 'get-who') return ANYBODY as ReplyOf<Type>
      return structuredClone((await service.call(data, NOTHING_KNOWN)) as ReplyOf<Type>)
    } catch (error) {
      throw asUnavailable(error)
    }
  }

  listen(scope: StreamScope, { onEvent, onEnd }: StreamHandlers, { lastId }: { readonly lastId?: string } = {}) {
    let closed = false
    const hear = (event: WireEvent, id?: string) => closed || onEvent(structuredClone(event), id)
    const listening = this.service().then((service) => service.listen(scope, hear, { lastId }))
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
    this.#ready = undefined
    const service = await this.#service?.catch(() => undefined)
    await service?.close()
    this.#onClose()
  }
}

/** The client makes these itself, of what it has checked: nothing is left to look at. */
const UNCHECKED: ReadonlySet<RequestType> = new Set(['acquire', 'release', 'cancel'])

const NOTHING_KNOWN = {}
/** Whoever uses a store without a server may do everything. */
const ANYBODY: Who = { status: 'who', role: 'anybody' }

/** A request of the client as it is after checking: with its defaults. */
function asChecked(request: InputOf<RequestType>): ServiceRequest {
  if (request.type === 'acquire') request.ttlMs ??= LIMITS.ttlDefaultMs
  return request as ServiceRequest
}

/** Nothing in it is the store's too. */
function isOwn(reply: ReplyOf<RequestType>): boolean {
  return !('result' in reply || 'progress' in reply || 'previous' in reply)
}

/** What is wrong with the store, or with its URL: everything that is thrown has a code. */
function unusable(error: unknown): unknown {
  const known = asUnavailable(error)
  if (known !== error || !(error instanceof Error)) return known
  if (error instanceof TypeError) return new ArgumentError(error.message, { cause: error })
  return new BatonError('store-unusable', error.message, { cause: error })
}

function asUnavailable(error: unknown): unknown {
  const isAway = error instanceof StoreUnavailable || error instanceof UnknownOutcome
  return isAway ? new UnavailableError(error.message, { cause: error }) : error
}

function issueText({ path, message }: { path: PropertyKey[]; message: string }): string {
  return path.length === 0 ? message : `${path.map(String).join('.')}: ${message}`
}
