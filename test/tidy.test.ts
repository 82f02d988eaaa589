import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import {
  deadExports,
  type Finding,
  importsOfTests,
  isIn,
  longFiles,
  namedFiles,
  pageImports,
  type ReplacedWord,
  rawOutput,
  realTime,
  replacedWords,
  undocumented,
  withoutSql,
} from './tidy/checks.ts'
import { entriesOf } from './tidy/entries.ts'
import { readTree, type SourceTree, treeOf } from './tidy/source-tree.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')

/** Where real time, timers and chance may be touched, and why. Everywhere else they are injected. */
const REAL_TIME = {
  'src/main.ts': 'wires the real ones',
  'src/service/clock.ts': 'the clock that is injected into stores',
  'src/service/timers.ts': 'the timers that are injected into services and servers',
  'src/client/clock.ts': 'clock and timers that are injected into clients',
  'src/client/random.ts': 'the chance that is injected into clients',
  'src/stores/timing.ts': 'clock, timers and chance that are injected into stores in other processes',
  'src/stores/file/lock.ts': 'waits for another process, before there is a store',
  'src/stores/file/kernel-lock.ts': 'the same, for its answer',
  'src/server/linger.ts': 'how long a socket lingers, which only a real one does',
  'src/cli/': 'a person at a terminal lives in real time',
  'src/dashboard/browser.ts': 'what a browser has, injected into all else of the page',
  'src/testing/attacks/': 'real processes on real machines',
  'src/testing/harness/': 'real processes on real machines',
  'src/testing/conformance/eventually.ts': 'awaits other processes and databases',
  'src/testing/simulator/cli.ts': 'says how long a run has taken',
  'src/testing/server-history.ts': 'weighs the memory of a real server now and then',
  'src/testing/journal.ts': 'the one monotonic clock that all processes of a machine share',
  'src/testing/shared-history.ts': 'compares that clock with the one on the wall',
  'src/testing/shared-history.test.ts': 'the same',
}

/** Where the command line writes to a stream itself, and why. Everywhere else it says what it has to say by print/say.ts. */
const RAW_OUTPUT = {
  'src/cli/print/say.ts': 'makes it harmless',
  'src/cli/print/paint.ts': 'writes escape sequences of its own',
  'src/cli/commands/status.ts': 'paints what print/resource-view.ts has made harmless',
  'src/cli/watch/terminal.ts': 'draws lines that watch/screen.ts has made harmless',
  'src/cli/run/waiting-line.ts': 'cuts what it has made harmless to the width of the terminal',
  'src/cli/demo/': 'draws a picture of what it has played itself',
}

/** Words that the code has given up, as names of things and of files; the words that it has are in docs/architecture.md. */
const REPLACED: readonly ReplacedWord[] = [
  { word: 'presence', now: 'availability' },
  { word: 'in the way', now: 'blocking' },
  { word: 'notice', now: 'log', in: ['src/service/', 'src/server/'] },
  { word: 'history', now: 'buffer', in: ['src/service/'] },
  { word: 'ask', now: 'acquire', in: ['src/testing/conformance/case.ts'] },
  { word: 'standpoint', now: 'place' },
  { word: 'storeState', now: 'what they are' },
  { word: 'strays', now: 'unknown places' },
  { word: 'care', now: 'maintenance' },
  { word: 'rest', now: 'what is in it', isName: true },
  { word: 'utils', now: 'what is in it' },
  { word: 'helpers', now: 'what they do' },
  {
    word: 'manager',
    now: 'what it does',
    except: ['AsyncLocalStorageContextManager', 'setGlobalContextManager'],
  },
]

/** What users of the SDK read in their editor: there the members have doc comments too. */
const PUBLIC_TYPES = ['src/client/api.ts', 'src/client/options.ts']

const PAGES = ['docs/architecture.md', 'docs/guarantees.md', 'CONTRIBUTING.md']

const checks: Readonly<Record<string, (tree: SourceTree) => Finding[]>> = {
  'no file is too long to read': longFiles,
  'nothing under src imports from test': importsOfTests,
  'the page takes nothing that is not for a browser': pageImports,
  'every export is imported somewhere': (tree) => deadExports(tree, entriesOf(root)),
  'everything public has a doc comment': (tree) => undocumented(tree, entriesOf(root), PUBLIC_TYPES),
  'time, timers and chance are injected': (tree) => realTime(tree, Object.keys(REAL_TIME)),
  'nothing that others wrote comes to a terminal raw': (tree) => rawOutput(tree, Object.keys(RAW_OUTPUT)),
  'stores/mysql is about MySQL': (tree) => withoutSql(tree, 'src/stores/mysql/', 'mysql2'),
  'one word an idea': (tree) => replacedWords(tree, REPLACED),
  'the pages name files that are there': (tree) => PAGES.flatMap((page) => namedFiles(tree, page, read(page))),
}

/** What is known and still to be done, by the claim that it breaks. Whatever is done has to go from here. */
const TO_BE_DONE: Readonly<Record<string, readonly string[]>> = {}

describe('the sources', () => {
  const tree = readTree(root, ['src', 'test', 'bench', 'scripts'])

  test.each(Object.entries(checks))('%s', (claim, check) => {
    const places = TO_BE_DONE[claim] ?? []
    const findings = check(tree)
    expect(findings.filter(({ path }) => !places.some((place) => isIn(path, place)))).toEqual([])
    expect(places.filter((place) => !findings.some(({ path }) => isIn(path, place)))).toEqual([])
  })

  test('every file that may touch real time does', () => {
    const touching = realTime(tree, []).map(({ path }) => path)
    expect(Object.keys(REAL_TIME).filter((place) => !touching.some((path) => isIn(path, place)))).toEqual([])
  })
})

describe('the checks', () => {
  const said = (findings: Finding[]) => findings.map(({ path, what }) => `${path}: ${what}`)

  test('a file of 301 lines is too long, one of 300 is not', () => {
    const lines = (count: number) => 'const a = 1\n'.repeat(count)
    const tree = treeOf({ 'src/a.ts': lines(300), 'src/a.test.ts': lines(301), 'test/b.ts': lines(999) })
    expect(said(longFiles(tree))).toEqual(['src/a.test.ts: 301 lines, more than 300'])
  })

  test('whoever imports from test is found, and tests may', () => {
    const tree = treeOf({
      'src/a/a.test.ts': "import { world } from '../../test/world.ts'",
      'src/a/b.ts': "export const load = () => import('../../test/world.ts')",
      'test/a.test.ts': "import { world } from './world.ts'",
      'test/world.ts': 'export const world = 1',
    })
    expect(said(importsOfTests(tree))).toEqual([
      'src/a/a.test.ts: imports test/world.ts',
      'src/a/b.ts: imports test/world.ts',
    ])
  })

  test('the page may not take what a browser does not have', () => {
    const tree = treeOf({
      'src/dashboard/a.tsx': [
        "import { useState } from 'preact/hooks'",
        "import { readFileSync } from 'node:fs'",
        "import './style/a.css'",
        "import { whyText } from '../protocol/why-text.ts'",
        "import { Service } from '../service/index.ts'",
        'export const A = () => <p>{whyText}</p>',
      ].join('\n'),
      'src/protocol/why-text.ts': 'export const whyText = 1',
      'src/service/index.ts': 'export class Service {}',
    })
    expect(said(pageImports(tree))).toEqual([
      'src/dashboard/a.tsx: imports src/service/index.ts, which is not for a browser',
      'src/dashboard/a.tsx: imports node:fs, which is not for a browser',
    ])
  })

  test('an export is dead that nobody imports, however it is declared', () => {
    const tree = treeOf({
      'src/a.ts': [
        'export const one = 1, two = 2',
        'export const { three, four: [five] } = { three: 3, four: [5] }',
        'export function six() {}',
        'export abstract class Seven {}',
        'export interface Eight {}',
        'export type Nine = Eight',
        'const ten = two + one',
        'export { ten, ten as eleven }',
      ].join('\n'),
      'src/b.ts': "import { two, type Nine, ten as other } from './a.ts'",
    })
    const dead = ['one', 'three', 'five', 'six', 'Seven', 'Eight', 'eleven']
    expect(said(deadExports(tree, []))).toEqual(dead.map((name) => `src/a.ts: exports ${name}, which nothing imports`))
  })

  test('what passes through an index lives if somebody takes it there, or if users can', () => {
    const tree = treeOf({
      'src/a.ts': 'export const used = 1\nexport const unused = 2',
      'src/b.ts': 'export const star = 1\nexport const starless = 2',
      'src/index.ts': "export { used, unused as renamed } from './a.ts'\nexport * from './b.ts'",
      'test/a.test.ts': "import { used, star } from '../src/index.ts'",
    })
    expect(said(deadExports(tree, []))).toEqual([
      'src/a.ts: exports unused, which nothing imports',
      'src/b.ts: exports starless, which nothing imports',
      'src/index.ts: exports renamed, which nothing imports',
    ])
    expect(deadExports(tree, ['src/index.ts'])).toEqual([])
  })

  test('what is taken as a whole lives as far as it is mentioned', () => {
    const tree = treeOf({
      'src/a/a.ts': 'export const one = 1\nexport const two = 2\nexport const three = 3\nexport const four = 4',
      'src/b.ts': "import * as a from './a/a.ts'\nconst b = a.one",
      'src/c.ts': "const { two } = await import('./a/a.ts')",
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the source of one.
      'bench/d.mjs': 'const { three } = await import(`${dist}/a/a.js`)',
    })
    expect(said(deadExports(tree, []))).toEqual(['src/a/a.ts: exports four, which nothing imports'])
  })

  test('what users see has a doc comment, wherever it is declared', () => {
    const tree = treeOf({
      'src/index.ts': "export { a, type B, f as g } from './a.ts'\nexport type * from './c.ts'",
      'src/a.ts': [
        'export const a = 1',
        '/** Said. */',
        'export interface B {',
        '  readonly one: string',
        '  /** Said. */',
        '  two(): void',
        '}',
        '// Not for users.',
        'export async function f() {}',
        'export const inner = 1',
      ].join('\n'),
      'src/c.ts': 'export type C = {\n  three?: number\n}',
    })
    const unsaid = ['src/a.ts: a', 'src/a.ts: B.one', 'src/a.ts: f', 'src/c.ts: C']
    expect(said(undocumented(tree, ['src/index.ts'], ['src/a.ts']))).toEqual(
      unsaid.map((each) => `${each.replace(': ', ': says nothing of ')}, which users see`),
    )
  })

  test.each([
    ['Date.now', 'const now = () => Date.now()'],
    ['Date.now', 'const now = Date.now'],
    ['new Date()', 'const now = new Date()'],
    ['performance.now', "import { performance } from 'node:perf_hooks'\nconst now = performance.now()"],
    ['process.hrtime', 'const now = process.hrtime.bigint()'],
    ['Math.random', 'const chance = Math.random()'],
    ['setTimeout', 'setTimeout(() => {}, 1)'],
    ['setTimeout', "import { setTimeout as sleep } from 'node:timers/promises'"],
    ['setInterval', 'const stop = globalThis.setInterval(() => {}, 1)'],
    ['randomUUID', "import { randomUUID as id } from 'node:crypto'"],
  ])('%s is found where it is not allowed: %s', (name, text) => {
    const tree = treeOf({ 'src/a.ts': text, 'src/b/c.ts': text, 'src/d.ts': text, 'test/a.ts': text })
    expect(said(realTime(tree, ['src/b/', 'src/d.ts']))).toEqual([`src/a.ts: uses ${name}; have it injected`])
  })

  test('a date of a known time, and what is said of time, are no clocks', () => {
    const text = "// Date.now() and setTimeout\nconst date = new Date(0)\nconst text = 'Math.random()'\nclock.now()"
    expect(realTime(treeOf({ 'src/a.ts': text }), [])).toEqual([])
  })

  test('whoever writes to a stream of the command line itself is found', () => {
    const text = 'export const say = (stdout) => stdout.write(1)'
    const tree = treeOf({ 'src/cli/a.ts': text, 'src/cli/a.test.ts': text, 'src/cli/b/c.ts': text, 'src/d.ts': text })
    expect(said(rawOutput(tree, ['src/cli/b/']))).toEqual(['src/cli/a.ts: writes by itself; use print/say.ts'])
  })

  test('a file of a store in SQL has SQL, the driver or its errors in it, or only passes on', () => {
    const tree = treeOf({
      'src/sql/a.ts': "const a = 'SELECT 1'",
      'src/sql/b.ts': 'const b = `UPDATE t SET x = 1`',
      'src/sql/c.ts': "import type { Connection } from 'driver'",
      'src/sql/d.ts': 'const isLost = ({ errno }) => errno === 1',
      'src/sql/index.ts': "export { a } from './a.ts'",
      'src/sql/e.test.ts': 'const e = 1',
      'src/sql/select.ts': '// SELECT\nexport const select = "select what you like"',
      'src/other/f.ts': 'const f = 1',
    })
    expect(said(withoutSql(tree, 'src/sql/', 'driver'))).toEqual([
      'src/sql/select.ts: has neither SQL nor driver in it',
    ])
  })

  test('a word that was replaced is found in names of things and files, as a word and nowhere else', () => {
    const replaced = [
      { word: 'in the way', now: 'blocking' },
      { word: 'strays', now: 'unknown places' },
      { word: 'care', now: 'maintenance', except: ['takeCare'] },
      { word: 'rest', now: 'others', in: ['src/a/'] },
      { word: 'kill', now: 'end', isName: true } as const,
    ]
    const tree = treeOf({
      'src/a/in-the-way.ts': '',
      'src/a/b.ts': 'class A { #restOf = 1 }\nconst { a, ...rest } = { interest: 1 } // the rest',
      'src/b/c.ts': "const rest = grantInTheWay('in the way')\nkill(killAll)\ntakeCare(careOf)",
    })
    expect(said(replacedWords(tree, replaced))).toEqual([
      "src/a/in-the-way.ts: in-the-way.ts: not 'in the way' but 'blocking'",
      "src/a/b.ts: restOf: not 'rest' but 'others'",
      "src/a/b.ts: rest: not 'rest' but 'others'",
      "src/b/c.ts: grantInTheWay: not 'in the way' but 'blocking'",
      "src/b/c.ts: careOf: not 'care' but 'maintenance'",
      "src/b/c.ts: kill: not 'kill' but 'end'",
    ])
  })

  test('a page may name a file by its path or by its name, if it is there', () => {
    const tree = treeOf({ 'src/a/b.ts': '', 'test/c.test.ts': '', 'scripts/d.mjs': '' })
    const text = '`a/b.ts` `src/a/b.ts` `b.ts` `test/c.test.ts` `scripts/d.mjs` `c.ts` `b/b.ts` e.ts `f` `a/`'
    expect(said(namedFiles(tree, 'docs/x.md', text))).toEqual([
      'docs/x.md: names c.ts, which is not there',
      'docs/x.md: names b/b.ts, which is not there',
    ])
  })
})
