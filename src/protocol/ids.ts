import { z } from 'zod'

/** Ids are opaque text. Control characters would forge log lines, lone surrogates do not survive the wire. */
const ID_MAX_BYTES = 512
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it is about.
const NO_CONTROL = /^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]+$/u

export function isId(text: string): boolean {
  return text.isWellFormed() && NO_CONTROL.test(text) && new TextEncoder().encode(text).length <= ID_MAX_BYTES
}

const rule = `must be 1 to ${ID_MAX_BYTES} bytes of UTF-8 text without control characters`

export const idSchema = z
  .string()
  .min(1, rule)
  .max(ID_MAX_BYTES, rule)
  .refine(isId, rule)
  .describe(`1 to ${ID_MAX_BYTES} bytes, no control characters`)
