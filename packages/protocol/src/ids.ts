/** Ids are opaque text. Control characters would forge log lines, lone surrogates do not survive the wire. */
export const ID_MAX_BYTES = 512
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it is about.
const NO_CONTROL = /^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]+$/u

/** Most ids are that, and short: no need to look at them more closely. */
const PLAIN = /^[\x20-\x7e]+$/

export function isId(text: string): boolean {
  if (text.length <= ID_MAX_BYTES && PLAIN.test(text)) return true
  return text.isWellFormed() && NO_CONTROL.test(text) && new TextEncoder().encode(text).length <= ID_MAX_BYTES
}
