import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { z } from 'zod'
import { isId, type RequestType } from '../protocol/index.ts'
import { ID_FORMAT, JSON_BYTES, requestSchemas } from '../protocol/schemas.ts'
import { isTooDeep } from './depth.ts'

type Schema = Record<string, unknown>

/** Those that are asked most, and whose schema changes nothing but defaults. */
const COMPILED: ReadonlySet<RequestType> = new Set<RequestType>([
  'acquire',
  'release',
  'renew',
  'cancel',
  'progress',
  'open-session',
  'renew-session',
  'close-session',
])

const ajv = new Ajv2020({ useDefaults: true, strict: false, validateFormats: true })
ajv.addFormat(ID_FORMAT, isId)
ajv.addKeyword({
  keyword: JSON_BYTES,
  errors: false,
  compile: (maxBytes: number) => (value: unknown) => !isTooDeep(value) && isJsonOf(maxBytes, value),
})

/** The schema drops keys of the name `__proto__`, so a value that has one is not surely as it should be. */
function isJsonOf(maxBytes: number, value: unknown): boolean {
  const text = JSON.stringify(value)
  return Buffer.byteLength(text) <= maxBytes && !text.includes('"__proto__":')
}

/** By type; of a release, by its outcome too: defaults are filled in where it is known which fields there are. */
const checks = new Map<string, ValidateFunction>()

/**
 * Whether the input is a request of this type for certain; its defaults are filled in then. Made of the schemas that also
 * make the sentences of refusals, which have the last word.
 */
export function isSurely(type: RequestType, input: Record<string, unknown>): boolean {
  if (!COMPILED.has(type)) return false
  const name = type === 'release' ? `release ${String(input.outcome)}` : type
  let check = checks.get(name)
  if (!check) {
    const schema = schemaOf(type, input.outcome)
    if (!schema) return false
    check = ajv.compile(schema)
    checks.set(name, check)
  }
  if (!check(input)) return false
  if (type === 'acquire') input.owner ??= input.node
  return true
}

function schemaOf(type: RequestType, outcome: unknown): Schema | undefined {
  const { $schema: _, ...schema } = z.toJSONSchema(requestSchemas[type], { io: 'input' }) as Schema
  if (type !== 'release') return lean(schema) as Schema
  const branches = schema.oneOf as { properties: { outcome: { const: unknown } } }[]
  const branch = branches.find(({ properties }) => properties.outcome.const === outcome)
  return branch && (lean(branch) as Schema)
}

/** Without what is checked anyway: the length of an id by the id, and JSON that was parsed is JSON. */
function lean(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(lean)
  if (typeof value !== 'object' || value === null) return value
  const schema = value as Schema
  if (schema.format === ID_FORMAT) return { type: 'string', format: ID_FORMAT, ...defaultOf(schema) }
  if (JSON_BYTES in schema) return { [JSON_BYTES]: schema[JSON_BYTES] }
  return Object.fromEntries(Object.entries(schema).map(([key, one]) => [key, lean(one)]))
}

function defaultOf(schema: Schema): Schema {
  return 'default' in schema ? { default: schema.default } : {}
}
