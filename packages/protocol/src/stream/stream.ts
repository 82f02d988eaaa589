import type { ErrorBody } from '../errors.ts'
import type { ReplyOf } from '../replies.ts'
import type { RequestInput, RequestType } from '../requests.ts'
import type { Route } from '../routes.ts'
import type { GatheredEvent, StreamedEvent } from './events.ts'

/*
 * /v1/stream: one WebSocket for the requests of a client, their answers, and the events that it listens to. Each message is
 * one frame of JSON text, and a frame carries as much as has come up since the one before it.
 */

export const streamRoute: Route = {
  method: 'GET',
  path: '/v1/stream',
  summary: 'A WebSocket: many requests in one frame, answers and events on the same connection.',
}

/**
 * A page cannot send a header with the upgrade, but it can offer subprotocols: this one, which is what the server answers, and
 * `baton.token.` with the token in base64url behind it.
 */
export const STREAM_PROTOCOL = 'baton.v1'
export const TOKEN_PROTOCOL = 'baton.token.'

/** What a client may ask to hear of. `news`: but for what its own requests are answered. */
export type StreamScope =
  | { readonly of: 'session'; readonly session: string }
  | { readonly of: 'resource'; readonly namespace: string; readonly resource: string }
  | { readonly of: 'all'; readonly namespace?: string | undefined }

/** Listens from now on; `id` is chosen by the client, and comes with every event. */
export interface ListenFrame {
  readonly id: number
  readonly scope: StreamScope
  /** The last event that was heard before, of a scope that is no session's. */
  readonly lastId?: string | undefined
  /** What happens is told as `gathered` events, so many milliseconds apart at least: for those who watch a busy server. */
  readonly gatherMs?: number | undefined
}

/** What asks and releases, and whatever else acts for a node, need not say each; the session is that of asks. */
export interface RequestDefaults {
  readonly namespace?: string | undefined
  readonly node?: string | undefined
  readonly session?: string | undefined
}

/** The requests that take namespace and node of the connection where they name none. */
export const TAKE_DEFAULTS: ReadonlySet<RequestType> = new Set(['acquire', 'release', 'cancel', 'progress', 'renew'])

/** What a client sends. */
export interface ClientFrame {
  /** The number of the first request; the others follow one by one. Numbers rise over the life of a connection. */
  readonly from?: number
  readonly requests?: readonly RequestInput[]
  /** From this frame on. */
  readonly defaults?: RequestDefaults
  /** Every reply up to this number has arrived: those asks and releases are not sent again. */
  readonly acked?: number
  /** Of the requests of this frame: releases of asks that were not made on this connection alone. */
  readonly keep?: readonly number[]
  readonly listen?: readonly ListenFrame[]
  readonly unlisten?: readonly number[]
}

/** What a server sends. The first frame is a greeting with the id of its store. */
export interface ServerFrame {
  readonly store?: string
  /** By the numbers of the requests, in whatever order they were answered. */
  readonly replies?: readonly (readonly [number: number, reply: ReplyOf<RequestType>])[]
  readonly events?: readonly (readonly [listen: number, id: string, event: StreamedEvent | GatheredEvent])[]
  /** These are not told anything any more, and why. */
  readonly ended?: readonly (readonly [listen: number, refusal: ErrorBody])[]
  /** The server is about to stop: what is asked from now on belongs elsewhere; what was asked before is answered here. */
  readonly draining?: true
}

/** So many requests go into one frame at most, and so many bytes: what is beyond goes into the next one. */
export const FRAME_LIMITS = { requests: 1_000, bytes: 256 * 1024 } as const
