import type { Json } from '../core/index.ts'
import { LIMITS } from '../protocol/index.ts'

/** What is told of an error to those who come after: its text, cut to what fits. */
export function errorText(error: unknown): string {
  return textOf(error).slice(0, LIMITS.errorChars).toWellFormed()
}

/** No other try would do better: the error says so itself. */
export function isPermanent(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'permanent' in error && error.permanent === true
}

/** What is told of a result: itself, or that there is one, and why it cannot be told. */
type ToldResult =
  | { readonly result?: Json; readonly why?: undefined }
  | { readonly resultOmitted: true; readonly why: string }

/** The work is done, whatever can be told of it: this never throws. */
export function toldResult(result: unknown): ToldResult {
  if (result === undefined) return {}
  let text: string | undefined
  try {
    text = JSON.stringify(result)
  } catch (error) {
    return { resultOmitted: true, why: `it is not JSON: ${textOf(error)}` }
  }
  if (text === undefined) return { resultOmitted: true, why: `it is not JSON but a ${typeof result}` }
  const bytes = bytesOf(text)
  if (bytes <= LIMITS.resultMaxBytes) return { result: JSON.parse(text) as Json }
  return {
    resultOmitted: true,
    why: `it is ${bytes} bytes of JSON, and no limit goes beyond ${LIMITS.resultMaxBytes}; return where it is to be found`,
  }
}

/** Why a result was not taken, and what a caller can do about it. */
export function tooLarge(result: Json): string {
  const bytes = bytesOf(JSON.stringify(result))
  const raise = '`baton serve --result-limit`, or with `resultLimit` of `open`'
  return `it is ${bytes} bytes of JSON; raise the limit with ${raise}, or return where it is to be found`
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length
}

function textOf(error: unknown): string {
  if (error instanceof Error) return error.message || error.name
  try {
    return String(error) || 'failed'
  } catch {
    return 'failed'
  }
}
