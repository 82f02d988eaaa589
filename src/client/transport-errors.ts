import { certificateTrouble } from './certificates.ts'
import { UnavailableError } from './errors.ts'

/** So long after a server has said that it stops, nobody is alarmed by what follows from that. */
export const ANNOUNCED_MS = 15_000

/** What went wrong on the way to a server, in words. */
export function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof UnavailableError) return error.message
  const trouble = certificateTrouble(error)
  if (trouble !== undefined) return trouble
  const { code } = error as { code?: unknown }
  return typeof code === 'string' && !error.message.includes(code) ? `${code}: ${error.message}` : error.message
}
