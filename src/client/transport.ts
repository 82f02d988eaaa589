import type { ErrorBody, ReplyOf, RequestInput, RequestType, StreamedEvent, StreamScope } from '../protocol/index.ts'

export type InputOf<Type extends RequestType> = Extract<RequestInput, { type: Type }>

export interface CallOptions {
  /** Nobody waits for the answer any more. */
  readonly signal?: AbortSignal
  /** How long this try may take; the transport's own limit where absent. */
  readonly timeoutMs?: number
}

/** Told how one try has ended: the reply, or why there is none. Does not throw. */
export type Tell<Type extends RequestType> = (reply: ReplyOf<Type> | undefined, error?: unknown) => void

/** A try as a promise. */
export function promised<Type extends RequestType>(send: (tell: Tell<Type>) => void): Promise<ReplyOf<Type>> {
  return new Promise((resolve, reject) => send((reply, error) => (reply ? resolve(reply) : reject(error))))
}

/**
 * How the SDK reaches Baton: over a WebSocket, over HTTP and SSE, or in process.
 *
 * `call` makes one try, of limited length. It resolves with whatever Baton answers, refusals included, and throws
 * `UnavailableError` where nobody answered: then the request may have been carried out or not. The same request may be
 * sent again, as all requests are recognised by their hold id, session or fence.
 *
 * `send` is `call` without a promise, where a transport can do without.
 *
 * `listen` opens one stream. `onEvent` is first told the present state or, with `lastId`, what was missed since.
 * `onEnd` is called once, when the stream has ended for any reason but being closed: opening it again is the caller's
 * business.
 */
export interface Transport {
  /** True where nothing stands between this client and the store that could swallow an event. */
  readonly isDirect?: boolean
  call<Type extends RequestType>(request: InputOf<Type>, options?: CallOptions): Promise<ReplyOf<Type>>
  send?<Type extends RequestType>(request: InputOf<Type>, options: CallOptions, tell: Tell<Type>): void
  listen(scope: StreamScope, handlers: StreamHandlers, options?: { readonly lastId?: string }): { close(): void }
  close(): Promise<void>
}

export interface StreamHandlers {
  readonly onEvent: (event: StreamedEvent, id?: string) => void
  readonly onEnd: (end: StreamEnd) => void
}

/** Why a stream is over. */
export interface StreamEnd {
  readonly reason: string
  /** Baton itself said no, and why. */
  readonly refusal?: ErrorBody | undefined
  /**
   * The server has said that it is about to stop: the stream is to be opened again at once. All that was asked on its connection
   * has been answered.
   */
  readonly isMove?: boolean | undefined
  /** It follows from a stop that was announced: nobody need be alarmed. */
  readonly isAnnounced?: boolean | undefined
}
