import { expect, test } from 'vitest'
import { z } from 'zod'
import { issuesText, issueText } from './issue-text.ts'

const schema = z.strictObject({ port: z.int(), tls: z.strictObject({ key: z.string() }).optional() })

function issuesOf(value: unknown) {
  return schema.safeParse(value).error!.issues
}

test.each([
  ['a field that is missing', {}, 'port: is missing; give a number'],
  ['a field of another type', { port: 'no' }, 'port: Invalid input: expected number, received string'],
  ['a field that there is not', { port: 1, prot: 2 }, 'unknown field "prot"; remove it'],
  ['one within another', { port: 1, tls: { key: 'k', 'c"': 2 } }, 'tls: unknown field "c\\""; remove it'],
  ['several', { tls: {} }, 'port: is missing; give a number; tls.key: is missing; give a string'],
])('%s is named, and what to do about it', (_, value, text) => {
  expect(issuesText(issuesOf(value))).toBe(text)
})

test('the input itself has a name if it is given one', () => {
  const [issue] = issuesOf(null)
  expect(issueText(issue!, 'The file')).toBe('The file: Invalid input: expected object, received null')
})
