import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { errors } from './errors.ts'

const docs = readFileSync(new URL('../../../docs/protocol.md', import.meta.url), 'utf8')

test('docs/protocol.md and the error table say the same, both ways', () => {
  const section = docs.slice(docs.indexOf('\n## Errors\n'), docs.indexOf('\n## Tokens\n'))
  const documented = [...section.matchAll(/^\| `([a-z-]+)` *\| (\d+) *\| (yes|no) *\| (.+?) *\|$/gm)].map(
    ([, code, status, again, meaning]) => [code, { status: Number(status), retryable: again === 'yes', meaning }],
  )
  expect(Object.fromEntries(documented)).toEqual(errors)
  expect(documented).toHaveLength(Object.keys(errors).length)
})
