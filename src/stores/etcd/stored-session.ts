/** A session as it is written down, whether it is alive or not. */
export interface StoredSession {
  readonly node: string
  readonly ttlMs: number
  readonly lease: number
  readonly ended?: 'left' | 'lost'
}
