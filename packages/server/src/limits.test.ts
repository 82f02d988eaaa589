import { readFileSync } from 'node:fs'
import { CORE_LIMITS } from '@baton-lock/core/limits'
import { LIMITS, QUOTAS, type Quota } from '@baton-lock/protocol'
import { expect, test } from 'vitest'
import { defaultLimits } from './limits.ts'

test('docs/limits.md and the limits say the same, row by row', () => {
  const docs = readFileSync(new URL('../../../docs/limits.md', import.meta.url), 'utf8')
  const documented = [...docs.matchAll(/^\| `(\w+)` \| ([^|]+?) \|/gm)].map(([, name, value]) => [name, value])
  expect(documented).toEqual(Object.entries(defaultLimits).map(([name, value]) => [name, said(name, value)]))
})

test('docs/limits.md and the quotas say the same', () => {
  const docs = readFileSync(new URL('../../../docs/limits.md', import.meta.url), 'utf8')
  const numbers = (row: string) =>
    new RegExp(`^\\| ${row} \\| (.+?) \\| (.+?) \\| (.+?) \\|`, 'm').exec(docs)?.slice(1, 4)
  const wanted = ({ sessions, places, references }: Quota) =>
    [sessions, places, references].map((count) => count.toLocaleString('en-US'))
  expect(numbers('one node')).toEqual(wanted(QUOTAS.node))
  expect(numbers('all nodes of a token together')).toEqual(wanted(QUOTAS.token))
  for (const [count, what] of [
    [CORE_LIMITS.holds, 'holds'],
    [CORE_LIMITS.references, 'references'],
    [LIMITS.policyNamespaces, 'namespaces'],
    [LIMITS.policyRows, 'rows'],
  ] as const)
    expect(docs).toContain(`${count.toLocaleString('en-US')} ${what}`)
})

function said(name: string, value: number): string {
  if (name.endsWith('Ms')) return `${value / 1_000} s`
  if (!name.endsWith('Bytes')) return value.toLocaleString('en-US')
  return value < 1024 * 1024 ? `${value / 1024} KiB` : `${value / 1024 / 1024} MiB`
}
