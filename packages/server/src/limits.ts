import { LIMITS } from '@baton-lock/protocol'

/** What one server takes on. Every one has a default. */
export interface ServerLimits {
  /** The largest body. Default: 64 KiB. */
  readonly bodyBytes: number
  /** What the reads of one reply tell in all, about: a page ends early, and in a batch the reads beyond it are refused. Default: 256 KiB. */
  readonly replyBytes: number
  /** Streams at a time, of both kinds. Default: 10,000. */
  readonly streams: number
  /** Of these, how many watch everything, and how many one resource: each step is told to all of them. Default: 500. */
  readonly watchers: number
  /** What one stream may leave unread before it is cut. Default: 256 KiB. */
  readonly streamBytes: number
  /**
   * What all that is unread may take together: of streams of both kinds, of answers, and of requests that were sent ahead.
   * Beyond it those who leave most unread are cut. Default: 64 MiB.
   */
  readonly allStreamsBytes: number
  /** How long a reader may take nothing of what it is sent, before it is cut; up to twice that. Default: 30 s. */
  readonly unreadMs: number
  /** Requests that may wait on one connection, sent ahead of the answers to those before them. Default: 32. */
  readonly requestsAhead: number
  /** How long a request may take to arrive. Default: 10 s. */
  readonly requestMs: number
  /** How long a connection may idle between requests. Default: 65 s. */
  readonly idleMs: number
}

/** The limits of a server about which nothing is said. */
export const defaultLimits: ServerLimits = {
  bodyBytes: LIMITS.bodyBytes,
  replyBytes: LIMITS.replyBytes,
  streams: 10_000,
  watchers: 500,
  streamBytes: 256 * 1024,
  allStreamsBytes: 64 * 1024 * 1024,
  unreadMs: 30_000,
  requestsAhead: 32,
  requestMs: 10_000,
  idleMs: 65_000,
}

/** A state that a stream is told first, and that is larger than this, comes in parts of this size. */
export const STATE_PART_BYTES = 64 * 1024

/**
 * What has to rise with the largest result: a body carries one, and a stream may be told several in one turn, one for each
 * place of its session. A reader that has not yet taken one is not slow when the next one comes.
 */
export function limitsFor(resultBytes: number): Partial<ServerLimits> {
  const moreBytes = Math.max(0, resultBytes - LIMITS.resultBytes)
  return {
    bodyBytes: defaultLimits.bodyBytes + moreBytes,
    streamBytes: defaultLimits.streamBytes + 16 * moreBytes,
  }
}
