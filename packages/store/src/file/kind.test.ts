import { expect, test } from 'vitest'
import { directoryOf } from './kind.ts'

test.each([
  ['file:./baton-data', './baton-data'],
  ['file:baton data', 'baton data'],
  ['file:/var/lib/baton', '/var/lib/baton'],
  ['file:///var/lib/baton', '/var/lib/baton'],
])('%s is %s', (url, directory) => expect(directoryOf(url)).toBe(directory))

test.each(['file:', 'file://host/share'])('%s names no directory of this machine', (url) => {
  expect(() => directoryOf(url)).toThrow(/names no directory/)
})
