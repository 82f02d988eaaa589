/** Deeper JSON than this is refused before anything recursive meets it. */
export const DEPTH_MAX = 64

/** Shorter texts are parsed in no time, however deep they are. */
const LONG_CHARS = 4_096
/** A frame, or a batch, is this much around a request. */
const AROUND = 8

const QUOTE = '"'.charCodeAt(0)
const BACKSLASH = '\\'.charCodeAt(0)
const BRACKET = '['.charCodeAt(0)
const BRACKET_END = ']'.charCodeAt(0)
const BRACE = '{'.charCodeAt(0)
const BRACE_END = '}'.charCodeAt(0)

/** Whether the text of some JSON is surely too deep: to parse it would take as long as a thousand requests. */
export function isDeepText(text: string, max = DEPTH_MAX + AROUND): boolean {
  if (text.length < LONG_CHARS) return false
  let depth = 0
  let isInString = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (isInString) {
      if (code === BACKSLASH) at++
      else if (code === QUOTE) isInString = false
    } else if (code === QUOTE) isInString = true
    else if (code === BRACKET || code === BRACE) {
      if (++depth > max) return true
    } else if (code === BRACKET_END || code === BRACE_END) depth--
  }
  return false
}

export function isTooDeep(root: unknown): boolean {
  if (isFlat(root)) return false
  let level: unknown[] = [root]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > DEPTH_MAX) return true
    level = level.flatMap((value) => (typeof value === 'object' && value !== null ? Object.values(value) : []))
  }
  return false
}

/** An object of plain values, or not even that, as most are: there is nothing in it that could do harm. */
export function isFlat(root: unknown): boolean {
  if (typeof root !== 'object' || root === null) return true
  for (const name in root) {
    if (typeof (root as Record<string, unknown>)[name] === 'object' || name === '__proto__') return false
  }
  return true
}
