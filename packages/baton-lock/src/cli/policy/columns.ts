import type { NamespacePolicy, OperationPolicy } from '@baton-lock/core'
import { UsageError } from '../exit.ts'
import { exactDuration, parseDuration } from '../values.ts'

/** How a column of the policy is written at a command line. */
interface Column {
  /** The accepted values, as part of an error message. */
  readonly values: string
  /** Nothing where the text is none of these. */
  parse(text: string): unknown
}

const oneOf = (...choices: string[]): Column => ({
  values: choices.join(', '),
  parse: (text) => (choices.includes(text) ? text : undefined),
})

const aSwitch: Column = {
  values: 'true, false',
  parse: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
}

const aNumber: Column = {
  values: 'a whole number',
  parse: (text) => (/^\d{1,15}$/.test(text) ? Number(text) : undefined),
}

const aDuration: Column = {
  values: 'a duration like 500ms, 2s, 10m, 1h or 7d, or a number of milliseconds',
  parse(text) {
    if (/^\d{1,15}$/.test(text)) return Number(text)
    try {
      return parseDuration(text)
    } catch (error) {
      if (error instanceof UsageError) return undefined
      throw error
    }
  },
}

const aList: Column = {
  values: 'operations, by commas',
  parse: (text) => text.split(',').filter((each) => each !== ''),
}

/** Of a row. */
export const operationColumns: Readonly<Record<keyof OperationPolicy, Column>> = {
  whenReferenced: oneOf('skip', 'refuse', 'allow'),
  waitersOnSuccess: oneOf('skip', 'next'),
  addsReference: aSwitch,
  dropsReferences: aSwitch,
  keepMs: aDuration,
  keepRevisionMs: aDuration,
  attempts: aNumber,
  retryDelayMs: aDuration,
  contradicts: aList,
  queueing: aSwitch,
}

/** Of a namespace, beside its rows. */
export const switches: Readonly<Record<Exclude<keyof NamespacePolicy, 'operations'>, Column>> = {
  exclusion: oneOf('operation', 'resource'),
  queueing: aSwitch,
  updateRequiresNoRef: aSwitch,
  claimMs: aDuration,
  queueLimit: aNumber,
}

/** A value as it would be written at a command line. */
export function valueText(column: string, value: unknown): string {
  if (value === undefined) return 'unset'
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.join(',')
  return column.endsWith('Ms') && typeof value === 'number' ? exactDuration(value) : String(value)
}
