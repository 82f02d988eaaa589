/** What a request may ask for, and how large it may be. */
export const LIMITS = {
  bodyBytes: 64 * 1024,
  /** The result that is told to others: as much as a server is set to, and never more than `resultMaxBytes`. */
  resultBytes: 16 * 1024,
  resultMaxBytes: 256 * 1024,
  progressBytes: 4 * 1024,
  errorChars: 4_096,
  ttlMinMs: 1_000,
  ttlMaxMs: 24 * 3_600_000,
  ttlDefaultMs: 30_000,
  waitMaxMs: 24 * 3_600_000,
  keepMaxMs: 366 * 24 * 3_600_000,
  batch: 1_000,
  /** What the reads of one reply tell in all, about: a page ends early, and in a batch the reads beyond it are refused. */
  replyBytes: 256 * 1024,
  page: 1_000,
  /** Of those who wait for a resource so many are shown with it, and so many in a list of resources. */
  waitersShown: 1_000,
  waitersListed: 100,
  policyNamespaces: 1_000,
  policyRows: 1_000,
} as const

/** How much one may have at a time of what it can grow. */
export interface Quota {
  readonly sessions: number
  /** Grants, and places in line. */
  readonly places: number
  /** Resources that it uses. */
  readonly references: number
}

/** What one node may have, and all nodes that a token acts for together. */
export interface Quotas {
  readonly node: Quota
  readonly token: Quota
}

/** Where a server says nothing else. A cluster of a thousand nodes with ten thousand layers each is far below. */
export const QUOTAS: Quotas = {
  node: { sessions: 10_000, places: 2_000_000, references: 1_000_000 },
  token: { sessions: 100_000, places: 4_000_000, references: 20_000_000 },
}

/** How large a value is as JSON. */
export function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}
