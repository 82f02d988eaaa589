import type { RequestType } from '@baton-lock/protocol'
import { requestSchemas } from '@baton-lock/protocol/schemas'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { check } from './check.ts'

/** A field as /openapi.json describes it. */
interface Field {
  readonly type?: string
  readonly format?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly minimum?: number
  readonly maximum?: number
  readonly maxLength?: number
  readonly examples?: readonly unknown[]
}

interface Fields {
  readonly properties: Record<string, Field>
  readonly required?: string[]
}

/** Requests whose fields are all scalars or JSON. */
const TYPES = (Object.keys(requestSchemas) as RequestType[]).filter(
  (type) => !['apply-policy', 'list-resources', 'list-waiters', 'get-resource'].includes(type),
)

/** The fields of a request of this type; of a release, one set for each outcome. */
function branchesOf(type: RequestType): Fields[] {
  const schema = z.toJSONSchema(requestSchemas[type], { io: 'input' }) as unknown as Fields & { oneOf?: Fields[] }
  return schema.oneOf ?? [schema]
}

/** A value that the field takes. */
function goodOf({ type, const: only, minimum, examples }: Field): unknown {
  if (only !== undefined) return only
  if (examples) return examples[0]
  return { boolean: true, integer: minimum, string: 'a' }[type ?? ''] ?? { any: 'json' }
}

/** Values that are no good for this field. */
function badOf({ type, format, const: only, minimum = 0, maximum = 0, maxLength }: Field): unknown[] {
  // `null` as a type counts as absent.
  if (only !== undefined) return ['another', 5, []]
  if (type === 'integer') return [minimum - 1, maximum + 1, 1.5, '5', true, null, Number.NaN]
  if (type === 'boolean') return [0, 'true', null]
  if (type !== 'string') return ['x'.repeat(300_000), { a: undefined }, () => 1]
  const ids = format === 'baton-id' ? ['', 'a\n', '\u0085', '\ud800', 'x'.repeat(513), 'ä'.repeat(257)] : []
  return [5, null, [], {}, ...ids, ...(maxLength === undefined ? [] : ['x'.repeat(maxLength + 1)])]
}

function accepts(type: RequestType, input: Record<string, unknown>): boolean {
  try {
    check({ ...input }, type)
    return true
  } catch (error) {
    expect(error).toMatchObject({ code: 'bad-request', message: expect.stringMatching(/\.$/) })
    return false
  }
}

test.each(TYPES)('the bounds that /openapi.json shows for %s are those that are checked', (type) => {
  for (const { properties, required = [] } of branchesOf(type)) {
    const good = Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, goodOf(field)]))
    expect(accepts(type, good)).toBe(true)
    expect(accepts(type, { ...good, surplus: 1 })).toBe(false)
    for (const [name, field] of Object.entries(properties)) {
      // The route names the type; the schema has a default for it in no other place.
      const isNeeded = required.includes(name) && name !== 'type'
      expect([name, accepts(type, without(good, name))]).toEqual([name, !isNeeded])
      for (const bad of badOf(field))
        expect([name, bad, accepts(type, { ...good, [name]: bad })]).toEqual([name, bad, false])
      for (const edge of [field.minimum, field.maximum])
        if (edge !== undefined) expect([name, accepts(type, { ...good, [name]: edge })]).toEqual([name, true])
    }
  }
})

function without(fields: Record<string, unknown>, name: string): Record<string, unknown> {
  const { [name]: _, ...others } = fields
  return others
}

test('an id is 1 to 512 bytes, whatever its characters are', () => {
  const input = { operation: 'pull', node: 'n' }
  for (const resource of ['-', 'ä'.repeat(256), 'x'.repeat(512), '\u{1f512}'])
    expect(check({ ...input, resource }, 'acquire')).toMatchObject({ resource })
})

test('defaults are filled in; the owner of an acquire is its node', () => {
  expect(check({ operation: 'pull', resource: 'r', node: 'n' }, 'acquire')).toEqual({
    type: 'acquire',
    namespace: 'default',
    operation: 'pull',
    resource: 'r',
    node: 'n',
    owner: 'n',
    hold: '-',
    ttlMs: 30_000,
  })
})

test.each([
  ['as a field', '{"session":"s","__proto__":{"x":1}}'],
  [
    'within its JSON',
    '{"operation":"pull","resource":"r","owner":"o","fence":1,"progress":{"a":[{"__proto__":{"x":1}}]}}',
  ],
  ['spelled otherwise', '{"operation":"pull","resource":"r","owner":"o","fence":1,"progress":{"\\u005f_proto__":1}}'],
])('a request with a key like __proto__, %s, is refused', (_, text) => {
  const type = text.includes('progress') ? 'progress' : 'renew-session'
  expect(() => check(JSON.parse(text), type)).toThrow(/__proto__/)
})

test('a request of thousands of fields is refused without naming them', () => {
  const fields = Object.fromEntries(Array.from({ length: 8_000 }, (_, index) => [`f${index}`, index]))
  expect(() => check(fields, 'acquire')).toThrow('The request has more than 64 fields')
})

test.each([
  ['what is missing', { progress: undefined }, 'progress: is missing; give JSON.'],
  ['which size is allowed', { progress: 'x'.repeat(5_000) }, 'progress: must be JSON of at most 4096 bytes.'],
  ['which number is missing', { fence: undefined }, 'fence: is missing; give a number.'],
  ['what came instead', { fence: 'one' }, 'fence: Invalid input: expected number, received string.'],
])('a sentence says %s', (_, more, sentence) => {
  const input = { operation: 'pull', resource: 'r', owner: 'o', fence: 1, progress: 1, ...more }
  expect(() => check(input, 'progress')).toThrow(expect.objectContaining({ message: sentence }))
})
