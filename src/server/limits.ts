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
  /** What every stream may leave unread, however small its share. Default: 0. */
  readonly streamLeastBytes: number
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
  streamLeastBytes: 0,
  requestMs: 10_000,
  idleMs: 65_000,
}

/**
 * What has to rise with the largest result: a body carries one, and a stream may be told several in one turn, one for each
 * place of its session. A reader that has not yet taken one is not slow when the next one comes.
 */
export function limitsFor(resultBytes: number): Partial<ServerLimits> {
  const moreBytes = Math.max(0, resultBytes - LIMITS.resultBytes)
  return {
    bodyBytes: defaultLimits.bodyBytes + moreBytes,
    streamBytes: defaultLimits.streamBytes + 16 * moreBytes,
    streamLeastBytes: 2 * moreBytes,
  }
}
