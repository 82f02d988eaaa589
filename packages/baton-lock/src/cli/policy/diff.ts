import {
  builtInNamespace,
  type NamespacePolicy,
  type OperationPolicy,
  type Policy,
  plainOperation,
  type SaidPolicy,
} from '@baton-lock/core'
import { valueText } from './columns.ts'

type SaidNamespace = SaidPolicy['namespaces'][string]
type Rows = NonNullable<SaidNamespace['operations']>

/** The earlier settings overridden by the new ones, column by column. A column that the new ones do not set stays. */
export function merged(before: SaidPolicy, now: SaidPolicy): SaidPolicy {
  return { namespaces: eachOf(before.namespaces, now.namespaces, mergedNamespace) }
}

function mergedNamespace(before: SaidNamespace, now: SaidNamespace): SaidNamespace {
  const { operations: rowsBefore = {}, ...switchesBefore } = before
  const { operations: rowsNow = {}, ...switchesNow } = now
  const operations = eachOf<Rows[string]>(rowsBefore, rowsNow, (one, other) => ({ ...one, ...other }))
  return { ...switchesBefore, ...switchesNow, operations }
}

type Named<Value> = Readonly<Record<string, Value>>

function eachOf<Value extends object>(
  before: Named<Value>,
  now: Named<Value>,
  merge: (before: Value, now: Value) => Value,
): Named<Value> {
  const all = new Map(Object.entries(before))
  for (const [name, value] of Object.entries(now)) {
    const present = all.get(name)
    all.set(name, present ? merge(present, value) : value)
  }
  return Object.fromEntries(all)
}

/** The differences between two policies, a line each. Empty if they are equal. */
export function policyDiff(before: Policy, after: Policy): string[] {
  return namesIn(before.namespaces, after.namespaces).flatMap((name) => {
    const one = ownOf<NamespacePolicy>(before.namespaces, name)
    const other = ownOf<NamespacePolicy>(after.namespaces, name)
    const place = name === 'default' ? '' : `[${name}] `
    if (!other) return [`removed  namespace ${name}: it has the policy of default`]
    if (one) return namespaceDiff(one, other, place)
    const added = `added    namespace ${name}: what it does not say is as built in, not as in default`
    return [added, ...namespaceDiff(builtInNamespace(name), other, place)]
  })
}

function namespaceDiff(before: NamespacePolicy, after: NamespacePolicy, place: string): string[] {
  const { operations: rowsBefore, ...switchesBefore } = before
  const { operations: rowsAfter, ...switchesAfter } = after
  const rows = namesIn(rowsBefore, rowsAfter).flatMap((operation) => {
    const one = ownOf<OperationPolicy>(rowsBefore, operation)
    const other = ownOf<OperationPolicy>(rowsAfter, operation)
    if (!other) return [`removed  ${place}${operation}`]
    if (one) return changed(one, other, `${place}${operation}.`)
    return [`added    ${place}${operation}: ${columnsText(other)}`]
  })
  return [...changed(switchesBefore, switchesAfter, place), ...rows]
}

/** A new row, by what it has otherwise than a plain mutex. */
function columnsText(row: object): string {
  const columns = differing(plainOperation, row).map(({ name, to }) => `${name}=${valueText(name, to)}`)
  return columns.length === 0 ? 'a plain mutex' : columns.join(' ')
}

function changed(before: object, after: object, place: string): string[] {
  return differing(before, after).map(
    ({ name, from, to }) => `changed  ${place}${name}: ${valueText(name, from)} → ${valueText(name, to)}`,
  )
}

function differing(before: object, after: object) {
  return namesIn(before, after)
    .map((name) => ({ name, from: ownOf<unknown>(before, name), to: ownOf<unknown>(after, name) }))
    .filter(({ from, to }) => JSON.stringify(from) !== JSON.stringify(to))
}

/** Those of the first in its order, then those that only the second has. */
function namesIn(one: object, other: object): string[] {
  return [...new Set([...Object.keys(one), ...Object.keys(other)])]
}

function ownOf<Value>(record: object, name: string): Value | undefined {
  return Object.hasOwn(record, name) ? (record as Record<string, Value>)[name] : undefined
}
