import { expect, test } from 'vitest'
import { checkContent, checkEmpty, checkReferences } from './settled-check.ts'

const said = (violations: readonly { rule: string; about: string; what: string }[]) =>
  violations.map(({ rule, about, what }) => `${rule} ${about}: ${what}`)

test('references are the uses of all nodes', () => {
  const uses = new Map([
    ['a', ['one', 'two']],
    ['b', ['one']],
  ])
  const good = new Map([
    ['one', ['b', 'a']],
    ['two', ['a']],
    ['three', []],
  ])
  expect(checkReferences({ references: good, uses })).toEqual([])
  const wrong = new Map([
    ['one', ['a']],
    ['two', ['a', 'b']],
  ])
  expect(said(checkReferences({ references: wrong, uses }))).toEqual([
    'references one: b uses it, and the lock server does not know',
    'references two: b does not use it, and the lock server says so',
  ])
})

test('a content store counts on what containerd has, and may know of more', () => {
  const good = { node: 'a', uses: ['one', 'two'], content: ['one'], images: [{ name: 'i', digests: ['one'] }] }
  expect(checkContent(good)).toEqual([])
  expect(said(checkContent({ ...good, uses: ['two'] }))).toEqual([
    'missing one: containerd on a has it, and the content store does not',
  ])
  expect(said(checkContent({ ...good, images: [{ name: 'i', digests: ['one', 'two'] }] }))).toEqual([
    'missing two: a has the image i, and not this of it',
  ])
})

test('what is left is named, with its folder', () => {
  const left = new Map([
    ['a: uses', []],
    ['b: blobs', ['one', 'two']],
  ])
  expect(said(checkEmpty(left))).toEqual(['left over b: blobs: 2, although no image is left: one, two'])
})
