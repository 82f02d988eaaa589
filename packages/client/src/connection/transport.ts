import type { ErrorBody, ReplyOf, RequestInput, RequestType, StreamedEvent, StreamScope } from '@baton-lock/protocol'

export type InputOf<Type extends RequestType> = Extract<RequestInput, { type: Type }>

/** Called once: with the reply, or with the reason why there is none. Does not throw. */
export type OnReply<Type extends RequestType> = (reply: ReplyOf<Type> | undefined, error?: unknown) => void

/**
 * How the SDK reaches Baton: over a WebSocket, or in process.
 *
 * `send` sends a request once and waits for its reply for `timeoutMs` at most. A refusal is a reply. The error is an
 * `UnavailableError` if no reply came; the request may have been carried out all the same. It may be sent again: Baton recognises
 * it by its hold id, session or fence.
 *
 * `listen` opens one event stream. The first event is the present state or, with `lastId`, the first one that was missed. `onEnd`
 * is called once, unless the caller closes the stream; the caller decides whether to open another one.
 */
export interface Transport {
  /** True if nothing between this client and the store can lose an event. */
  readonly isDirect?: boolean
  send<Type extends RequestType>(request: InputOf<Type>, timeoutMs: number, onReply: OnReply<Type>): void
  listen(scope: StreamScope, handlers: StreamHandlers, options?: { readonly lastId?: string }): { close(): void }
  close(): Promise<void>
}

export interface StreamHandlers {
  readonly onEvent: (event: StreamedEvent, id?: string) => void
  readonly onEnd: (end: StreamEnd) => void
}

/** Why a stream ended. */
export interface StreamEnd {
  readonly reason: string
  /** Baton refused it. */
  readonly refusal?: ErrorBody | undefined
  /** The server is about to stop and has answered all requests of its connection: open the stream again at once. */
  readonly isMove?: boolean | undefined
  /** The server had announced that it stops, so there is nothing to report. */
  readonly isAnnounced?: boolean | undefined
}
