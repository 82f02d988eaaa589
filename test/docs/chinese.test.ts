import { expect, test } from 'vitest'
import { type Block, type Page, readPage } from './page.ts'

/* README.zh-CN.md is README.md in Chinese: the same code, commands, links and sections, so that one cannot change without the other. */

const english = readPage('README.md')
const chinese = readPage('README.zh-CN.md')

/** Comments are translated; what is printed is not. */
const COMMENTS: Readonly<Record<string, RegExp>> = { sh: /(^|\s)#(?! ?(\{|skipped)).*$/gm, js: /\/\/.*$/gm }

function codeOf({ language, text }: Block): string {
  const comment = COMMENTS[language]
  return comment ? text.replaceAll(comment, '').replaceAll(/ +$/gm, '') : text
}

const isCommand = (span: string) => /^(baton|npm|npx|node|curl) /.test(span)
const levels = ({ text }: Page) =>
  [...text.replaceAll(/^```[\s\S]*?^```$/gm, '').matchAll(/^(#+) /gm)].map(([, level]) => level)
/** Headings have other names, and each page leads to the other one. */
const target = (link: string) => (link.startsWith('#') ? '#' : link.replace('README.zh-CN.md', 'README.md'))

test('the same code, comments aside', () => {
  expect(chinese.blocks.map(({ language }) => language)).toEqual(english.blocks.map(({ language }) => language))
  expect(chinese.blocks.map(codeOf)).toEqual(english.blocks.map(codeOf))
})

test('the same commands in sentences and tables, and the same words of code', () => {
  expect(chinese.spans.filter(isCommand)).toEqual(english.spans.filter(isCommand))
  expect([...chinese.spans].sort()).toEqual([...english.spans].sort())
})

test('the same links, in the same order', () => {
  expect(chinese.links.map(target)).toEqual(english.links.map(target))
  expect([english.links[0], chinese.links[0]]).toEqual(['README.zh-CN.md', 'README.md'])
})

test('the same sections', () => {
  expect(levels(chinese)).toEqual(levels(english))
})

test('it is Chinese', () => {
  for (const heading of chinese.headings.slice(1)) expect(heading).toMatch(/\p{Script=Han}/u)
})
