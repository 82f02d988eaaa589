import { certificateTrouble } from './certificates.ts'

/** What went wrong on the way to a server, in words. */
export function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const trouble = certificateTrouble(error)
  if (trouble !== undefined) return trouble
  const { code } = error as { code?: unknown }
  return typeof code === 'string' && !error.message.includes(code) ? `${code}: ${error.message}` : error.message
}
