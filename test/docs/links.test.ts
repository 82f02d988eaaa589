import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, normalize } from 'node:path'
import { describe, expect, test } from 'vitest'
import { pageOf, root } from './page.ts'

/* Every link within the repository leads somewhere: to a file that is there, and to a heading that it has. */

const FOLDERS = ['docs', 'deploy', 'examples', 'packages/core/scenarios']

const isPage = (path: string) => path.endsWith('.md')
const pages = [
  ...readdirSync(root).filter(isPage),
  ...FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter(isPage)
      .map((path) => `${folder}/${path}`),
  ),
  ...readdirSync(join(root, 'packages'))
    .map((name) => `packages/${name}/README.md`)
    .filter((path) => existsSync(join(root, path))),
]

type Tree = (path: string) => string | undefined
const files: Tree = (path) => {
  if (!existsSync(join(root, path))) return undefined
  return isPage(path) ? readFileSync(join(root, path), 'utf8') : ''
}

/** What is wrong with the links of a page, a sentence each. */
function brokenLinks(path: string, tree: Tree): string[] {
  const { links } = pageOf(tree(path)!)
  return links.flatMap((link) => {
    if (/^[a-z]+:/.test(link)) return []
    const [target = '', anchor] = decodeURI(link).split('#')
    const file = target === '' ? path : normalize(join(dirname(path), target))
    const text = tree(file)
    if (text === undefined) return [`${path}: ${link} is not there`]
    if (anchor === undefined || pageOf(text).anchors.has(anchor)) return []
    return [`${path}: ${link} is no heading`]
  })
}

test.each(pages)('%s', (path) => {
  expect(brokenLinks(path, files)).toEqual([])
})

test('there are pages to look at', () => {
  expect(pages.length).toBeGreaterThan(30)
})

test('every page that is no note on a decision is in the tables of both READMEs, and in the navigation of the site', () => {
  const site = readFileSync(join(root, 'site/.vitepress/config.mjs'), 'utf8')
  const readmes = ['README.md', 'README.zh-CN.md'].map((path) => pageOf(files(path)!).links)
  for (const path of pages.filter((each) => /^docs\/[^/]+\.md$/.test(each))) {
    expect(site).toContain(`'${path.replace('.md', '')}'`)
    for (const links of readmes) expect(links).toContain(path)
  }
})

test('the page of the rules links every scenario once', () => {
  const { links } = pageOf(files('docs/rules.md')!)
  const linked = links.filter((link) => link.endsWith('.txt')).map((link) => basename(link))
  const scenarios = readdirSync(join(root, 'packages/core/scenarios')).filter((name) => name.endsWith('.txt'))
  expect(linked.toSorted()).toEqual(scenarios.toSorted())
})

describe('the check', () => {
  const broken = (tree: Readonly<Record<string, string>>) => brokenLinks('docs/a.md', (path) => tree[path])

  test('a file and a heading that are there are no findings, nor is what leads elsewhere', () => {
    const text =
      '# A, b: `c` (d)\n\n## A\n## A\n[](#a-b-c-d) [](#a-1) [](../b.md#x) [](https://example.org/x) [](../b.ts)'
    expect(broken({ 'docs/a.md': text, 'b.md': '## X', 'b.ts': '' })).toEqual([])
  })

  test('a file or a heading that is missing is one, in pictures and in HTML too', () => {
    const text =
      '# A\n[](c.md) [](#b) [](../b.md#y) ![](x.png)\n<img src="y.png"> <source srcset="z.png"> <a href="#w">'
    expect(broken({ 'docs/a.md': text, 'b.md': '```\n## Y\n```' })).toEqual([
      'docs/a.md: c.md is not there',
      'docs/a.md: #b is no heading',
      'docs/a.md: ../b.md#y is no heading',
      'docs/a.md: x.png is not there',
      'docs/a.md: y.png is not there',
      'docs/a.md: z.png is not there',
      'docs/a.md: #w is no heading',
    ])
  })

  test('code has no links', () => {
    expect(broken({ 'docs/a.md': '`[](c.md)`\n```\n[](d.md)\n```\n' })).toEqual([])
  })
})
