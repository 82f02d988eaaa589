import type { SaidPolicy } from '@baton-lock/core'
import { policySchema } from '@baton-lock/protocol/schemas'
import { z } from 'zod'
import { checked, parseToml } from '../config/file.ts'
import { UsageError } from '../exit.ts'
import { readText } from '../values.ts'
import { operationColumns, switches } from './columns.ts'

const fileSchema = z.union(
  [
    z.strictObject({ version: z.int().min(0).optional(), policy: z.looseObject({ namespaces: z.looseObject({}) }) }),
    z.strictObject({ namespaces: z.looseObject({}) }).transform((policy) => ({ version: undefined, policy })),
  ],
  'it should hold [policy.namespaces.NAME] tables, as `baton policy show` prints them',
)

interface PolicyFile {
  /** The version that it was read at, where it says so. */
  readonly version: number | undefined
  readonly said: SaidPolicy
}

/** Reads a TOML or JSON file. Columns that the file does not set are absent, not defaults. */
export function readPolicyFile(path: string): PolicyFile {
  const text = readText(path)
  const content = text.trimStart().startsWith('{') ? parseJson(text, path) : parseToml(text, path)
  const { version, policy } = checked(fileSchema, content, path)
  return { version, said: checkedSaid(policy, path) }
}

/** As it was said, once the schema has found nothing wrong with it. */
export function checkedSaid(said: unknown, where: string): SaidPolicy {
  checked(policySchema, said, where)
  return said as SaidPolicy
}

function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new UsageError(`${path} is not JSON: ${(cause as Error).message}`, { cause })
  }
}

/** What a policy file has in front of the name of a row: here it would be taken for a part of the name. */
const IN_A_FILE = 'operations.'

type SaidNamespace = SaidPolicy['namespaces'][string]

/** What `[OPERATION.]COLUMN=VALUE …` say of a namespace. The last dot splits: operations may have dots in their names. */
export function saidByRows(rows: readonly string[], namespace: string): SaidPolicy {
  let said: SaidNamespace = {}
  for (const row of rows) {
    const [, operation, column = '', text = ''] = /^(?:([^=]*)\.)?([^=.]*)=(.*)$/s.exec(row) ?? []
    if (column === '' || operation === '') {
      throw new UsageError(`'${row}' is not of the form [OPERATION.]COLUMN=VALUE; write it like compile.attempts=3`)
    }
    if (operation?.startsWith(IN_A_FILE)) {
      const short = row.slice(IN_A_FILE.length)
      throw new UsageError(`'${row}' has '${IN_A_FILE}' in front, as only a file has it; write it like ${short}`)
    }
    const value = parsedValue({ operation, column, text })
    if (operation === undefined) said = { ...said, [column]: value }
    else {
      const columns = { ...said.operations?.[operation], [column]: value }
      said = { ...said, operations: { ...said.operations, [operation]: columns } }
    }
  }
  return { namespaces: { [namespace]: said } }
}

interface Cell {
  readonly operation: string | undefined
  readonly column: string
  readonly text: string
}

function parsedValue({ operation, column, text }: Cell): unknown {
  const known = operation === undefined ? switches : operationColumns
  const names = Object.keys(known)
  if (!names.includes(column)) {
    const what = operation === undefined ? 'a namespace' : `the operation '${operation}'`
    const hint = operation === undefined && column in operationColumns ? ` (of a row: OPERATION.${column}=…)` : ''
    throw new UsageError(`'${column}' is not a column of ${what}${hint}; there are ${names.join(', ')}`)
  }
  const { values, parse } = known[column as keyof typeof known]
  const value = parse(text)
  if (value === undefined) throw new UsageError(`'${text}' is no value of ${column}; use ${values}`)
  return value
}
