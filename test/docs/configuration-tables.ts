import { contentNodeSchema, contentSettingsSchema } from '@baton-lock/containerd/node/config'
import { defaultNamespacePolicy, plainOperation } from '@baton-lock/core/policy'
import { QUOTAS } from '@baton-lock/protocol/limits'
import { namespacePolicySchema, operationPolicySchema } from '@baton-lock/protocol/requests'
import { fileOnlySettings } from 'baton-lock/cli/config/file'
import { flagOf, type Setting, settingRows, variablesOf } from 'baton-lock/cli/config/serve-settings'
import { examplesOf, storeTable } from 'baton-lock/store-table'
import { z } from 'zod'
import { code, table } from './tables.ts'

/* The tables of docs/configuration.md, from the code that reads the configuration. */

interface JsonSchema {
  readonly type?: string
  readonly format?: string
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly minimum?: number
  readonly maximum?: number
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly additionalProperties?: JsonSchema | boolean
  readonly items?: JsonSchema
  readonly required?: readonly string[]
}

function serveRow(key: string, setting: Setting): readonly string[] {
  const { kind, value, toml, says, negation, default: usual } = setting
  const flags = [flagOf(key) + (value === undefined ? '' : ` ${value.toUpperCase()}`)]
  if (negation !== undefined) flags.push(flagOf(key).replace('--', '--no-'))
  const what = negation === undefined ? says : `${says}; ${code(flags[1]!)}: ${negation}`
  return [
    flags.map(code).join(', '),
    variablesOf(key, setting).map(code).join(', '),
    toml === undefined ? '' : code(toml),
    usual === undefined ? '' : code(usual),
    kind.is,
    what.replace('STORES', examplesOf(storeTable)),
  ]
}

function typeOf({ type, format, enum: choices, items, minimum, maximum }: JsonSchema): string {
  if (choices) return choices.map((choice) => code(String(choice))).join(', ')
  if (type === 'array') return `a list of ${typeOf(items ?? {})}`
  if (type === 'boolean') return '`true`, `false`'
  if (type === 'object') return 'a table'
  if (format === 'date-time') return 'a time with its zone'
  if (type !== 'integer') return 'text'
  // What a schema says where nothing was said.
  const max = maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum
  return `a whole number${minimum === undefined ? '' : max === undefined ? ` from ${minimum}` : `, ${minimum} to ${max}`}`
}

/** The keys of an object in the file, with what stands for those that are absent. */
function keysOf(
  schema: z.ZodType,
  defaults?: Readonly<Record<string, unknown>>,
  without: readonly string[] = [],
): string {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: 'input' }) as JsonSchema
  const rows = Object.entries(properties)
    .filter(([key]) => !without.includes(key))
    .map(([key, property]) => {
      const usual = defaults?.[key]
      const isRequired = required.includes(key)
      const absent = isRequired ? 'required' : usual === undefined ? '' : code(JSON.stringify(usual))
      return [code(key), typeOf(property), absent, property.description ?? '']
    })
  return table(['key', 'is', 'default', 'what'], rows)
}

const tokenSchema = fileOnlySettings.tokens.unwrap().element
const quotaSchema = fileOnlySettings.quotas.unwrap().shape.node.unwrap()

function quotaTable(): string {
  const { properties = {} } = z.toJSONSchema(quotaSchema, { io: 'input' }) as JsonSchema
  const rows = Object.entries(properties).map(([key, { description = '' }]) => {
    const quota = key as keyof typeof QUOTAS.node
    return [code(key), code(String(QUOTAS.node[quota])), code(String(QUOTAS.token[quota])), description]
  })
  return table(['key', '`[quotas.node]`', '`[quotas.token]`', 'what'], rows)
}

/** By the name that stands in the page. */
export const configurationTables: Readonly<Record<string, string>> = {
  serve: table(
    ['flag', 'environment', 'in the file', 'default', 'is', 'what'],
    settingRows.map(([key, setting]) => serveRow(key, setting)),
  ),
  tokens: keysOf(tokenSchema),
  quotas: quotaTable(),
  namespace: keysOf(namespacePolicySchema, { ...defaultNamespacePolicy }, ['operations']),
  operation: keysOf(operationPolicySchema, { ...plainOperation }),
  content: keysOf(contentSettingsSchema),
  contentNode: keysOf(contentNodeSchema),
}
