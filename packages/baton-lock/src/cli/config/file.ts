import { issuesText, type NamedToken } from '@baton-lock/protocol'
import { tokensSchema } from '@baton-lock/protocol/schemas'
import { parse, TomlError } from 'smol-toml'
import { z } from 'zod'
import { UsageError } from '../exit.ts'
import { readText } from '../values.ts'
import { type ServeSettings, settingRows } from './serve-settings.ts'

const count = z.int().min(1)
const quotaSchema = z
  .strictObject({
    sessions: count.describe('sessions, where the state is in the process of the server'),
    places: count.describe('grants, and places in line'),
    references: count.describe('resources that it uses'),
  })
  .partial()

/** What only the file can say. The policy is checked later, with the switches applied. */
export const fileOnlySettings = {
  tokens: tokensSchema.optional(),
  quotas: z
    .strictObject({
      node: quotaSchema.optional().describe('of one node'),
      token: quotaSchema.optional().describe('of all nodes that a token acts for together'),
    })
    .optional(),
  policy: z.strictObject({ namespaces: z.record(z.string(), z.record(z.string(), z.unknown())) }).optional(),
}

/** Everything that `baton serve --config FILE` may hold. */
const configSchema = z.strictObject({ ...settingsSchemas(), ...fileOnlySettings })

const tokensFileSchema = z.strictObject({ tokens: tokensSchema })

export interface ConfigFile extends z.output<z.ZodObject<typeof fileOnlySettings>> {
  readonly settings: ServeSettings
}

export function readConfigFile(path: string): ConfigFile {
  const { tokens, quotas, policy, ...settings } = checked(configSchema, readToml(path), path)
  return { tokens, quotas, policy, settings: settingsOfFile(settings) }
}

/** By key, or by the table that keys are in. */
function settingsSchemas(): Record<string, z.ZodType> {
  const keys: Record<string, z.ZodType> = {}
  const tables: Record<string, Record<string, z.ZodType>> = {}
  for (const { table, key, kind } of settingsInFile()) {
    const schema = kind.schema.optional()
    if (table === undefined) keys[key] = schema
    else tables[table] = { ...tables[table], [key]: schema }
  }
  for (const [table, inTable] of Object.entries(tables)) keys[table] = z.strictObject(inTable).optional()
  return keys
}

type Table = Readonly<Record<string, unknown>>

function settingsOfFile(file: Table): ServeSettings {
  const settings: Record<string, string | boolean> = {}
  for (const { table, key, name } of settingsInFile()) {
    const value = (table === undefined ? file : ((file[table] ?? {}) as Table))[key]
    if (value === undefined || (Array.isArray(value) && value.length === 0)) continue
    // A list is written by commas elsewhere.
    settings[name] = typeof value === 'boolean' ? value : String(value)
  }
  return settings
}

/** Those that have a place in the file, apart from those of the policy, which is checked as a whole. */
function settingsInFile() {
  return settingRows.flatMap(([name, { toml, inPolicy, kind }]) => {
    if (toml === undefined || inPolicy) return []
    const [key = '', table] = toml.split('.').reverse()
    return [{ name, table, key, kind }]
  })
}

export function readTokensFile(path: string): readonly NamedToken[] {
  return parseTokens(readText(path), path)
}

/** The tokens in the text of such a file. */
export function parseTokens(text: string, path: string): readonly NamedToken[] {
  return checked(tokensFileSchema, parseToml(text, path), path).tokens
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
  throw new UsageError(`${path} has to be changed: ${issuesText(result.error.issues)}`)
}

function readToml(path: string): unknown {
  return parseToml(readText(path), path)
}
