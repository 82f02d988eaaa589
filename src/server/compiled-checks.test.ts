import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import type { RequestType } from '../protocol/index.ts'
import { requestSchemas } from '../protocol/schemas.ts'
import { check } from './check.ts'
import { isSurely } from './compiled-checks.ts'

const COMPILED = [
  'acquire',
  'release',
  'renew',
  'cancel',
  'progress',
  'open-session',
  'renew-session',
  'close-session',
] as const satisfies readonly RequestType[]

const ids = fc.oneof(
  { weight: 20, arbitrary: fc.constantFrom('a', 'default', '-', 'ä'.repeat(256), 'x'.repeat(512)) },
  { weight: 1, arbitrary: fc.constantFrom('ä'.repeat(257), 'x'.repeat(513), '', 'a\n', '\ud800') },
  { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
)
const numbers = fc.oneof(
  { weight: 20, arbitrary: fc.constantFrom(1_000, 5_000, 60_000) },
  { weight: 1, arbitrary: fc.constantFrom(0, 1, 99, 100, 3_600_000, -1, 1.5, 2 ** 53 - 1, 2 ** 53, 1e300) },
  { weight: 1, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }) },
)
const json = fc.oneof(
  { weight: 9, arbitrary: fc.jsonValue() },
  { weight: 1, arbitrary: fc.constantFrom(deep(60), deep(64), deep(70), 'x'.repeat(70_000), 'x'.repeat(300_000)) },
)
const span = `00-${'a'.repeat(32)}-${'1'.repeat(16)}-01`
const spans = fc.oneof(
  { weight: 20, arbitrary: fc.constant(span) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      span.toUpperCase(),
      span.replace('00', '01'),
      span.replace(/a/g, '0'),
      span.replace(/1{16}/, '0'.repeat(16)),
      `${span}-`,
      ` ${span}`,
      `${span}\n`,
    ),
  },
)
const odd = fc.oneof(fc.constantFrom(null, '', [], {}), fc.jsonValue())

function deep(levels: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < levels; level++) value = [value]
  return value
}

/** What a field of this name may look like: mostly right, sometimes just beside it, sometimes anything. */
function fieldOf(name: string): fc.Arbitrary<unknown> {
  const right = () => {
    if (name === 'outcome') return fc.constantFrom('success', 'failure', 'cancelled', 'expired')
    if (name === 'result' || name === 'progress') return json
    if (name === 'effect') return fc.constantFrom('none', 'unknown')
    if (['verified', 'verifies', 'reference', 'dropReference', 'queueing', 'permanent', 'resultOmitted'].includes(name))
      return fc.boolean()
    if (name === 'traceparent') return spans
    if (name.endsWith('Ms') || name === 'fence' || name === 'disbelieve') return numbers
    return ids
  }
  return fc.oneof({ weight: 30, arbitrary: right() }, { weight: 1, arbitrary: odd })
}

interface Field {
  readonly type?: string
  readonly const?: unknown
  readonly minimum?: number
  readonly maximum?: number
  readonly maxLength?: number
  readonly examples?: readonly unknown[]
}

interface Fields {
  readonly properties: Record<string, Field>
  readonly required?: string[]
}

/** The fields of a request of this type; of a release, by its outcome. */
function branchesOf(type: RequestType): Fields[] {
  const schema = z.toJSONSchema(requestSchemas[type], { io: 'input' }) as unknown as Fields & { oneOf?: Fields[] }
  return schema.oneOf ?? [schema]
}

function inputsOf(type: RequestType): fc.Arbitrary<Record<string, unknown>> {
  const branches = branchesOf(type).map(({ properties, required = [] }) => {
    const entries = Object.entries(properties).map(([name, { const: only }]) => [
      name,
      only === undefined ? fieldOf(name) : fc.oneof({ weight: 30, arbitrary: fc.constant(only) }, fieldOf(name)),
    ])
    const fields: Record<string, fc.Arbitrary<unknown>> = Object.fromEntries(entries)
    const usual = fc.record(fields, { requiredKeys: required })
    const wild = fc.record({ ...fields, more: odd, toString: odd }, { requiredKeys: [] })
    return fc.oneof({ weight: 9, arbitrary: usual }, { weight: 1, arbitrary: wild })
  })
  return fc.oneof(...branches).map((input) => ({ ...input, type }))
}

test.each(COMPILED)('what is surely a request of type %s is one, with the same value', (type) => {
  let sure = 0
  fc.assert(
    fc.property(inputsOf(type), (input) => {
      const text = JSON.stringify(input)
      const mine = JSON.parse(text) as Record<string, unknown>
      if (!isSurely(type, mine)) return
      sure++
      const theirs = requestSchemas[type].safeParse(JSON.parse(text))
      expect(theirs.error?.issues).toBeUndefined()
      expect(mine).toEqual(theirs.data)
    }),
    { numRuns: 400 },
  )
  // It would say nothing if hardly any were.
  expect(sure).toBeGreaterThan(40)
})

/** A value that the field takes. */
function goodOf({ type, const: only, minimum, examples }: Field): unknown {
  if (only !== undefined) return only
  if (examples) return examples[0]
  return { boolean: true, integer: minimum, string: 'a' }[type ?? ''] ?? { any: 'json' }
}

const oddValues = [null, '', 'a', 'a\n', 'x'.repeat(513), '5', 0, -1, 1.5, 2 ** 53, true, [], {}, [1], { length: 1 }]

test.each(COMPILED)('every field of a request of type %s is known, and its bounds are those of the schema', (type) => {
  for (const { properties, required = [] } of branchesOf(type)) {
    const good = Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, goodOf(field)]))
    expect(isSurely(type, { ...good })).toBe(true)
    for (const name of required) expect(isSurely(type, without(good, name)), name).toBe(false)
    for (const [name, { minimum = 0, maximum = 0, maxLength = 0 }] of Object.entries(properties)) {
      const bounds = [minimum, maximum, maximum + 1, minimum - 1, 'x'.repeat(maxLength), 'x'.repeat(maxLength + 1)]
      for (const value of [...oddValues, ...bounds]) {
        const input: Record<string, unknown> = { ...good, [name]: value }
        const theirs = requestSchemas[type].safeParse({ ...input })
        expect([name, value, isSurely(type, input)]).toEqual([name, value, theirs.success])
      }
    }
  }
})

function without(fields: Record<string, unknown>, name: string): Record<string, unknown> {
  const { [name]: _, ...others } = fields
  return others
}

test.each(['', 'x'.repeat(513), 'ä'.repeat(257), 'a\n', '\u0085', '\ud800'])('%j is surely no id', (id) => {
  const input = { type: 'acquire', operation: 'pull', resource: 'r', node: 'n', owner: 'o', hold: 'h', namespace: 'd' }
  for (const name of ['operation', 'resource', 'node', 'owner', 'hold', 'namespace']) {
    expect(isSurely('acquire', { ...input, [name]: id }), name).toBe(false)
    expect(requestSchemas.acquire.safeParse({ ...input, [name]: id }).success, name).toBe(false)
  }
  expect(isSurely('acquire', { ...input })).toBe(true)
})

test('a key like __proto__ makes it no request', () => {
  const input = JSON.parse('{"type":"renew-session","session":"s","__proto__":{"x":1}}')
  expect(isSurely('renew-session', input)).toBe(false)
})

test.each(['__proto__', '\\u005f_proto__'])('nor does one in its JSON, written %s, come through', (key) => {
  const text = `{"operation":"pull","resource":"r","owner":"o","fence":1,"progress":{"a":[{"${key}":{"x":1}}]}}`
  const asked = check('progress', JSON.parse(text)) as { progress?: unknown }
  expect(JSON.stringify(asked.progress)).toBe('{"a":[{}]}')
})

test("an ask without an owner is its node's, as the schema has it", () => {
  const input = { type: 'acquire', operation: 'pull', resource: 'r', node: 'n' }
  const mine: Record<string, unknown> = { ...input }
  expect(isSurely('acquire', mine)).toBe(true)
  expect(mine).toEqual(requestSchemas.acquire.parse(input))
  expect(mine.owner).toBe('n')
})
