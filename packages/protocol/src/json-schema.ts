import type { Json } from '@baton-lock/core'
import { z } from 'zod'
import { jsonBytes } from './limits.ts'

/** Any JSON up to a size. `z.json()` copies the value and takes ten times as long. */
export function jsonSchema(maxBytes: number): z.ZodType<Json> {
  return z
    .unknown()
    .refine(isPlainJson, {
      error: ({ input }) =>
        input === undefined ? 'is missing; give JSON' : 'must be JSON without a key like __proto__',
      abort: true,
    })
    .refine((value) => jsonBytes(value) <= maxBytes, `must be JSON of at most ${maxBytes} bytes`)
    .describe(`JSON of at most ${maxBytes} bytes`)
    .meta({ 'x-json-bytes': maxBytes }) as unknown as z.ZodType<Json>
}

/** Level by level, so that deep nesting cannot exhaust the stack. */
function isPlainJson(root: unknown): boolean {
  let level = [root]
  while (level.length > 0) {
    const next: unknown[] = []
    for (const value of level) {
      if (isScalar(value)) continue
      if (typeof value !== 'object' || value === null) return false
      if (!Array.isArray(value) && !isPlainObject(value)) return false
      for (const child of Object.values(value)) next.push(child)
    }
    level = next
  }
  return true
}

function isScalar(value: unknown): boolean {
  return value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)
}

function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return (prototype === Object.prototype || prototype === null) && !Object.hasOwn(value, '__proto__')
}
