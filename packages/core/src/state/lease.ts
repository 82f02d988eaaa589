/**
 * What keeps a hold or a place in line alive: a session of the client's, or an implicit one of its own that runs
 * out at a deadline.
 */
export type Lease =
  | { readonly session: string; readonly expiresAtMs?: undefined; readonly ttlMs?: undefined }
  | { readonly session?: undefined; readonly expiresAtMs: number; readonly ttlMs: number }
