import type { SaidPolicy } from '../../core/index.ts'

type SaidNamespace = SaidPolicy['namespaces'][string]
type Rows = NonNullable<SaidNamespace['operations']>

/** What was said before, with what is said now on top, column by column: whatever is not named now stays. */
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
