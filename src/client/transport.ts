import type { ReplyOf, RequestInput, RequestType, WireEvent } from '../protocol/index.ts'

export type InputOf<Type extends RequestType> = Extract<RequestInput, { type: Type }>

/** What a stream is about; the same words as the service's scopes. */
export type StreamScope =
  | { readonly of: 'session'; readonly session: string }
  | { readonly of: 'resource'; readonly namespace: string; readonly resource: string }
  | { readonly of: 'all' }

/**
 * How the SDK reaches Baton: over HTTP and SSE, in process, and perhaps over other wires later.
 *
 * `call` makes one try. It resolves with whatever Baton answers, refusals included, and throws `UnavailableError`
 * where nobody answered: then the request may have been carried out or not. The same request may be sent again, as all
 * requests are recognised by their hold id, session or fence.
 *
 * `listen` opens one stream. `onEvent` is first told the present state. `onEnd` is called once, when the stream has ended
 * for any reason but being closed: opening it again is the caller's business.
 */
export interface Transport {
  call<Type extends RequestType>(
    request: InputOf<Type>,
    options?: { readonly signal?: AbortSignal },
  ): Promise<ReplyOf<Type>>
  listen(scope: StreamScope, handlers: StreamHandlers): { close(): void }
  close(): Promise<void>
}

export interface StreamHandlers {
  readonly onEvent: (event: WireEvent) => void
  readonly onEnd: (reason: string) => void
}
