import { expect, test } from 'vitest'
import { kindOf } from './kinds.ts'

test('a URL names a store by its scheme', () => {
  const urls = ['file:./data', 'memory:', 'mysql://u@h/d', 'mariadb://u@h/d']
  expect(urls.map(kindOf)).toEqual(['file', 'memory', 'mysql', 'mysql'])
})

test('what names none is refused without what may be a password', () => {
  for (const url of ['redis://u:secret@h', 'constructor:', '__proto__:', 'mysql', '', ':'])
    expect(() => kindOf(url)).toThrow(/^there is no store '[a-z_]*:'; use file:DIR, mysql:\/\/… or memory:$/)
})
