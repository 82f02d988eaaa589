import type { Json } from '@baton-lock/core'
import { LIMITS } from '@baton-lock/protocol'

/** The text of an error for others, cut to the limit. */
export function errorText(error: unknown): string {
  return textOf(error).slice(0, LIMITS.errorChars).toWellFormed()
}

/** The error itself says that another attempt would not help. */
export function isPermanent(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'permanent' in error && error.permanent === true
}

/** A result for others, or the reason why it is omitted. */
type ToldResult =
  | { readonly result?: Json; readonly why?: undefined }
  | { readonly resultOmitted: true; readonly why: string }

/** Never throws: the work is done, whether or not its result can be told. */
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

/** Why a server refused a result, and what to do about it. */
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
