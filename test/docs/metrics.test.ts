import { families } from '@baton-lock/server/metrics/families'
import { test } from 'vitest'
import { code, expectTables, table } from './tables.ts'

/* docs/operations.md and the code say the same of every metric. */

test('every metric is in the table, and every row is one', () => {
  const rows = Object.entries(families).map(([name, { type, labels, help, over = '' }]) => {
    return [code(name), type, labels.join(', '), help, over]
  })
  const columns = ['metric', 'type', 'labels', 'meaning', 'over servers']
  expectTables('docs/operations.md', { metrics: table(columns, rows) })
})
