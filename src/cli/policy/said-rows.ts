import type { SaidPolicy } from '../../core/index.ts'
import { UsageError } from '../exit.ts'
import { operationColumns, switches } from './columns.ts'

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
