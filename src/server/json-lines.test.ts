import { expect, test } from 'vitest'
import { jsonLines } from './json-lines.ts'

test('an entry is one line of JSON that no terminal obeys, and means what was logged', () => {
  const lines: string[] = []
  const error = 'a\n{"message":"forged"}\u001b[2J\u009b2J\u0085\u2028\u202e\u2066\ud800'
  jsonLines((line) => lines.push(line)).error('internal error', { error })
  expect(lines).toHaveLength(1)
  expect(lines[0]).toMatch(/^[\x20-\x7e]+$/)
  expect(JSON.parse(lines[0]!)).toMatchObject({ level: 'error', message: 'internal error', error })
})
