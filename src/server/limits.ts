import { LIMITS } from '../protocol/index.ts'

/** What one server takes on. Every one has a default. */
export interface ServerLimits {
  /** The largest body. Default: 64 KiB. */
  readonly bodyBytes: number
  /** Streams at a time, of both kinds. Default: 10,000. */
  readonly streams: number
  /** What one stream may leave unread before it is cut. Default: 256 KiB. */
  readonly streamBytes: number
  /** What all streams together may leave unread: each has its share of it, if that is less. Default: 64 MiB. */
  readonly allStreamsBytes: number
  /** How long a request may take to arrive. Default: 10 s. */
  readonly requestMs: number
  /** How long a connection may idle between requests. Default: 65 s. */
  readonly idleMs: number
}

/** The limits of a server about which nothing is said. */
export const defaultLimits: ServerLimits = {
  bodyBytes: LIMITS.bodyBytes,
  streams: 10_000,
  streamBytes: 256 * 1024,
  allStreamsBytes: 64 * 1024 * 1024,
  requestMs: 10_000,
  idleMs: 65_000,
}
