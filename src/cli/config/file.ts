import { parse, TomlError } from 'smol-toml'
import { z } from 'zod'
import type { Token } from '../../protocol/index.ts'
import { tokensSchema } from '../../protocol/schemas.ts'
import { UsageError } from '../exit.ts'
import { readText } from './read-text.ts'

export const portSchema = z.int().min(0).max(65_535)

const count = z.int().min(1)
const quotaSchema = z.strictObject({ sessions: count, places: count, references: count }).partial()

/** Everything that `baton serve --config FILE` may hold. The policy is checked later, with the switches applied. */
const configSchema = z.strictObject({
  host: z.string().min(1).optional(),
  port: portSchema.optional(),
  store: z.string().min(1).optional(),
  insecure: z.boolean().optional(),
  allowed_hosts: z.array(z.string()).optional(),
  tls: z.strictObject({ cert: z.string(), key: z.string(), ca: z.string().optional() }).optional(),
  tokens: tokensSchema.optional(),
  result_limit: z.int().or(z.string()).optional(),
  log_level: z.string().optional(),
  log_format: z.string().optional(),
  quotas: z.strictObject({ node: quotaSchema.optional(), token: quotaSchema.optional() }).optional(),
  policy: z.strictObject({ namespaces: z.record(z.string(), z.record(z.string(), z.unknown())) }).optional(),
})

const tokensFileSchema = z.strictObject({ tokens: tokensSchema })

export type ConfigFile = z.output<typeof configSchema>

export function readConfigFile(path: string): ConfigFile {
  return checked(configSchema, readToml(path), path)
}

export function readTokensFile(path: string): readonly Token[] {
  return checked(tokensFileSchema, readToml(path), path).tokens
}

export function parseToml(text: string, path: string): unknown {
  try {
    return parse(text)
  } catch (cause) {
    if (!(cause instanceof TomlError)) throw cause
    const [what = ''] = cause.message.replace(/^Invalid TOML document: /, '').split('\n')
    throw new UsageError(`${path} is not TOML: line ${cause.line}, column ${cause.column}: ${what}`, { cause })
  }
}

/** The value as the schema gives it back, or a sentence that names every place that has to be changed. */
export function checked<Schema extends z.ZodType>(schema: Schema, value: unknown, path: string): z.output<Schema> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const issues = result.error.issues.map((issue) => {
    const place = issue.path.join('.')
    return place === '' ? issue.message : `${place}: ${issue.message}`
  })
  throw new UsageError(`${path} has to be changed: ${issues.join('; ')}`)
}

function readToml(path: string): unknown {
  return parseToml(readText(path), path)
}
