import { expect, test } from 'vitest'
import { harmlessJson, oneLine } from './harmless.ts'

const CONTROLS = [0x00, 0x07, 0x08, 0x0a, 0x0d, 0x1b, 0x7f, 0x80, 0x85, 0x90, 0x9b, 0x9d, 0x9f, 0x2028, 0x2029]
const DIRECTIONS = [0x061c, 0x200e, 0x200f, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069]
const every = String.fromCharCode(...CONTROLS, ...DIRECTIONS, 0xd800)
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it is about.
const OBEYED = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/

test('nothing in a line is obeyed by a terminal', () => {
  expect(oneLine(`a${every}b`)).not.toMatch(OBEYED)
  for (const code of CONTROLS) expect(oneLine(`a${String.fromCharCode(code)}[2Jb`)).toBe('a [2Jb')
  expect(oneLine('a\r\n\tb')).toBe('a b')
})

test('what changes the direction of reading is shown', () => {
  expect(oneLine('node\u202eabc\u202c\u2066x\u2069\u200e\u200f')).toBe(
    'node\\u202eabc\\u202c\\u2066x\\u2069\\u200e\\u200f',
  )
})

test('half of a character is none, and all other text is as it was', () => {
  expect(oneLine('a\ud800b\udc00')).toBe('a\ufffdb\ufffd')
  const text = '  sha256:ab/cd  שלום 层 é 😀 👩\u200d🚀 {"a":"\\u001b"} '
  expect(oneLine(text)).toBe(text)
})

test.each([0, 2])('JSON is one text that no terminal obeys, and means what it meant (indented by %d)', (indent) => {
  const value = { [`k${every}`]: [every, 'plain 😀', 1, null, { nested: '\u009b2J' }] }
  const text = harmlessJson(value, indent)
  expect(JSON.parse(text)).toEqual(value)
  for (const line of text.split('\n')) expect(line).not.toMatch(OBEYED)
  expect(text.split('\n').length > 1).toBe(indent > 0)
})
