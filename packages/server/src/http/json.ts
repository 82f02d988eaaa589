import { Refusal } from '../refusal.ts'

/** JSON that is nested deeper is refused before a recursive function sees it. */
const DEPTH_MAX = 64

/** Shorter texts parse quickly however deep they are. */
const LONG_CHARS = 4_096
/** Levels that a frame or a batch adds around a request. */
const LEVELS_AROUND = 8

const QUOTE = '"'.charCodeAt(0)
const BACKSLASH = '\\'.charCodeAt(0)
const BRACKET = '['.charCodeAt(0)
const BRACKET_END = ']'.charCodeAt(0)
const BRACE = '{'.charCodeAt(0)
const BRACE_END = '}'.charCodeAt(0)

const NOT_PLAIN = 'The body is not JSON, or has a key like __proto__; send plain JSON.'
const TOO_DEEP = `The JSON is nested deeper than ${DEPTH_MAX} levels.`

const decoder = new TextDecoder('utf-8', { fatal: true })

/** The JSON of a body, whatever its Content-Type says; `undefined` if it is empty. */
export function jsonOf(body: Buffer | undefined): unknown {
  if (!body || body.length === 0) return undefined
  const text = decoded(body)
  if (text.length === 0) return undefined
  if (isDeepText(text)) throw new Refusal('bad-request', TOO_DEEP)
  const value = parsed(text)
  if (isFlat(value)) return value
  checkDepth(value)
  if (hasUnsafeKey(value)) throw new Refusal('bad-request', NOT_PLAIN)
  return value
}

function decoded(body: Buffer): string {
  try {
    return decoder.decode(body)
  } catch {
    throw new Refusal('bad-request', 'The body is not UTF-8; send JSON in UTF-8.')
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Refusal('bad-request', NOT_PLAIN)
  }
}

export function checkDepth(value: unknown): void {
  if (isTooDeep(value)) throw new Refusal('bad-request', TOO_DEEP)
}

/** Whether the text of some JSON is certainly too deep: counting brackets takes a fiftieth of the time of parsing them. */
export function isDeepText(text: string, max = DEPTH_MAX + LEVELS_AROUND): boolean {
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

function isTooDeep(root: unknown): boolean {
  if (isFlat(root)) return false
  let level: unknown[] = [root]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > DEPTH_MAX) return true
    level = level.flatMap(childrenOf)
  }
  return false
}

/** Keys by which a careless merge of objects would change the prototype of others. Of a value that is not too deep. */
function hasUnsafeKey(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Object.hasOwn(value, '__proto__')) return true
  if (Object.hasOwn(value, 'constructor')) {
    const { constructor: replaced } = value as { constructor: unknown }
    if (typeof replaced === 'object' && replaced !== null && Object.hasOwn(replaced, 'prototype')) return true
  }
  return childrenOf(value).some(hasUnsafeKey)
}

function childrenOf(value: unknown): unknown[] {
  return typeof value === 'object' && value !== null ? Object.values(value) : []
}

/** An object of scalars only, or a scalar, as most requests are: nothing in it can do harm. */
function isFlat(root: unknown): boolean {
  if (typeof root !== 'object' || root === null) return true
  for (const name in root) {
    if (typeof (root as Record<string, unknown>)[name] === 'object' || name === '__proto__') return false
  }
  return true
}
