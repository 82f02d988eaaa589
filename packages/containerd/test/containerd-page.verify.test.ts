import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'smol-toml'
import { describe, expect, test } from 'vitest'
import { contentConfigOf, contentNodeSchema } from '../src/node/config.ts'

/* docs/containerd.md agrees with the code. content-page.verify.test.ts follows its instructions. */

const root = fileURLToPath(new URL('../../../', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const page = read('docs/containerd.md')
const section = (heading: string) => page.split(`\n## ${heading}\n`)[1]!.split('\n## ')[0]!
/** The cells of each row of a section's table, without its head. */
const rowsOf = (heading: string) =>
  section(heading)
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(2)
    .map((line) => line.slice(2, -2).split(' | '))
const codeIn = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, code]) => code!)
const blocks = (language: string) =>
  [...page.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)]
    .filter(([, named]) => named === language)
    .map(([, , text]) => text!)

const minimal = { current_node: 'a', servers: ['http://10.0.0.1:8086'], nodes: { a: { root: '/data/a' } } }

describe('the configuration', () => {
  const documented = new Map(rowsOf('Configuration').map(([key, byDefault]) => [codeIn(key!)[0]!, byDefault!]))

  test('every key is on the page, and every key of the page is known', () => {
    // What the schema knows, it names in its warning about a key that it does not.
    const { warnings } = contentConfigOf({ ...minimal, unheard_of: 1 }, 'content.toml')
    const known = /known are (.*)$/.exec(warnings[0]!)![1]!.split(', ')
    const node = /interface ContentNodeSettings \{([\s\S]*?)\n\}/.exec(
      read('packages/containerd/src/node/config.ts'),
    )![1]!
    const ofNodes = [...node.matchAll(/readonly (\w+)\??:/g)].map(([, key]) => `nodes.NAME.${key}`)
    expect(Object.keys(contentNodeSchema.shape).map((key) => `nodes.NAME.${key}`)).toEqual(ofNodes)
    expect([...documented.keys()].sort()).toEqual([...known, ...ofNodes].sort())
  })

  test('what the page says is required is, and nothing else', () => {
    for (const [key, byDefault] of documented) {
      const isRequired = byDefault === 'required'
      const settings: Record<string, unknown> = { ...minimal, nodes: { a: { root: '/data/a' } } }
      if (key === 'nodes.NAME.root') settings.nodes = { a: {} }
      else delete settings[key]
      if (key === 'servers') settings.nodes = { a: { root: '/data/a', lock_server: '10.0.0.1:8086' } }
      if (isRequired) expect(() => contentConfigOf(settings, 'content.toml'), key).toThrow('content.toml')
      else expect(contentConfigOf(settings, 'content.toml').warnings, key).toEqual([])
    }
  })

  test('its defaults are those of the code', () => {
    expect(documented.get('when_unavailable')).toBe(`\`${contentConfigOf(minimal, 'content.toml').whenUnavailable}\``)
    const choices = rowsOf('Configuration').find(([key]) => key === '`when_unavailable`')![2]!
    for (const choice of codeIn(choices)) contentConfigOf({ ...minimal, when_unavailable: choice }, 'content.toml')
    expect(codeIn(choices)).toHaveLength(3)
  })
})

describe('the files', () => {
  test('that of a node is taken without a warning, but for the token that is not on this machine', () => {
    const files = blocks('toml').filter((text) => text.includes('current_node'))
    expect(files).toHaveLength(1)
    const { token_file, ...settings } = parse(files[0]!)
    expect(token_file).toBe('/etc/baton/token')
    expect(contentConfigOf(settings, 'content.toml').warnings).toEqual([])
  })

  test('that of containerd is the one of the example', () => {
    const files = blocks('toml').filter((text) => text.includes('proxy_plugins'))
    expect(files.map((text) => parse(text))).toEqual([parse(read('examples/containerd/containerd.toml'))])
  })
})

test('every sentence of the log and every word of the status that the page quotes is said by the code', () => {
  const sources = ['packages/containerd/src', 'packages/baton-lock/src/cli/print']
    .flatMap((folder) => readdirSync(join(root, folder), { recursive: true }).map((name) => `${folder}/${name}`))
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
    .map(read)
    .join('\n')
  const quoted = rowsOf('When something goes wrong').flatMap(([, , seen]) => codeIn(seen!))
  expect(quoted.length).toBeGreaterThan(10)
  // What is filled in is written as …
  const unsaid = quoted.filter((sentence) => sentence.split('…').some((piece) => !sources.includes(piece.trim())))
  expect(unsaid).toEqual([])
})
