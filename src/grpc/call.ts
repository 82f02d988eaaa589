import type { Status } from './status.ts'

/** What every handler has of its call. After the end of the call, and after a cancel, what it sends is dropped. */
interface Call {
  readonly path: string
  /** The call was over before the handler ended it: the client reset it, broke a rule, or is gone. */
  readonly isCancelled: boolean
  /** At once where it is cancelled already; never after the handler has ended the call. It must not throw. */
  onCancel(listener: () => void): void
  /**
   * A message, whole or in pieces that make one; they must not change until they are sent. False: enough is waiting now, and
   * what produces more should wait for `drained`.
   */
  send(...pieces: readonly Uint8Array[]): boolean
  /** Resolves when there is room again, or nobody to send to. */
  drained(): Promise<void>
  /** The call has gone well. */
  end(): void
  /** The call has failed. */
  fail(status: Status): void
}

/** A unary or server-streaming call. */
export interface SingleCall extends Call {
  /** The one message of the request. */
  readonly request: Uint8Array
}

/** A client-streaming or bidirectional call. */
export interface StreamCall extends Call {
  /**
   * The messages of the request, in order. It ends when the client has said that there are no more; to leave it earlier does not
   * end the call. While messages are not taken, the client is made to wait. Throws `CallCancelled` where the call is cancelled.
   */
  messages(): AsyncIterable<Uint8Array>
}

/**
 * Called in the turn in which the request came, so that an answer at hand goes out in the same turn: when the whole request
 * is there (`single`), or when it begins (`stream`). One that throws, or rejects, fails its call with INTERNAL.
 */
export type Method =
  | { readonly kind: 'single'; readonly handle: (call: SingleCall) => void | Promise<void> }
  | { readonly kind: 'stream'; readonly handle: (call: StreamCall) => void | Promise<void> }
