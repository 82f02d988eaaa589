import { SkippedError } from '../client/index.ts'

/** The skip that `acquire` throws, as a value; anything else is thrown on. */
export function skipOf(error: unknown): { readonly status: 'skipped'; readonly fence: number } {
  if (error instanceof SkippedError) return { status: 'skipped', fence: error.fence }
  throw error
}
