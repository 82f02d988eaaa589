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
  page: 1_000,
} as const

/** How large a value is as JSON. */
export function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}
