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

/** The result as it goes over the wire; a `TypeError` that says what is wrong with one that cannot. */
export function checkedResult(result: unknown): Json | undefined {
  if (result === undefined) return undefined
  const text = jsonOf(result)
  const bytes = new TextEncoder().encode(text).length
  if (bytes > LIMITS.resultBytes) {
    throw new TypeError(`the result is ${bytes} bytes of JSON, and at most ${LIMITS.resultBytes} are told to others`)
  }
  return JSON.parse(text) as Json
}

function jsonOf(result: unknown): string {
  let text: string | undefined
  try {
    text = JSON.stringify(result)
  } catch (error) {
    throw new TypeError(`the result is not JSON: ${textOf(error)}`, { cause: error })
  }
  if (text === undefined) throw new TypeError(`the result is not JSON: it is a ${typeof result}`)
  return text
}

function textOf(error: unknown): string {
  if (error instanceof Error) return error.message || error.name
  try {
    return String(error) || 'failed'
  } catch {
    return 'failed'
  }
}
