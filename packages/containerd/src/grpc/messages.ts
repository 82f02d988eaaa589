/** What of the messages is used here; the numbers of \`proto.ts\` are by name. */
export interface WriteRequest {
  /** 0: stat, 1: write, 2: commit. */
  readonly action: number
  readonly ref: string
  readonly total: number
  readonly expected: string
  readonly offset: number
  readonly data: Uint8Array
}

export interface WriteResponse {
  readonly action: number
  readonly startedAt: Timestamp
  readonly updatedAt: Timestamp
  readonly offset: number
  readonly total: number
  readonly digest: string
}

export interface ReadRequest {
  readonly digest: string
  readonly offset: number
  readonly size: number
}

interface Timestamp {
  readonly seconds: number
  readonly nanos: number
}

export const ACTION = { stat: 0, write: 1, commit: 2 } as const

export function timestampOf(ms: number): Timestamp {
  const seconds = Math.floor(ms / 1_000)
  return { seconds, nanos: Math.round((ms - seconds * 1_000) * 1_000_000) }
}
