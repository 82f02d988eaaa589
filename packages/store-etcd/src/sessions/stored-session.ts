/** A session as it is written down, whether it is alive or not. */
export interface StoredSession {
  readonly node: string
  readonly ttlMs: number
  readonly lease: number
  /** The process that it is at, or was at last. It stands with `alive` too, which is gone when the lease is. */
  readonly process: string
  readonly ended?: 'left' | 'lost'
}
