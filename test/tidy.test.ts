import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import {
  deadExports,
  type Finding,
  isIn,
  missingPaths,
  ownSpawns,
  pageImports,
  rawOutput,
  realTime,
} from './tidy/checks.ts'
import { entriesOf } from './tidy/entries.ts'
import { readTree, treeOf } from './tidy/source-tree.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

/** The places that may use real clocks, timers and randomness, and why. Everywhere else they are injected. */
const REAL_TIME = {
  'packages/service/src/timers/clock.ts': 'the clock that is injected into stores',
  'packages/service/src/timers/timers.ts': 'the timers that are injected into services and servers',
  'packages/client/src/clock.ts': 'the clock and timers that are injected into clients',
  'packages/client/src/random.ts': 'the randomness that is injected into clients',
  'packages/store/src/timing.ts': 'clock, timers and randomness that are injected into stores in other processes',
  'packages/store/src/file/directory-lock.ts': 'waits for another process before the store is open',
  'packages/store/src/conformance/eventually.ts': 'waits for other processes and databases',
  'packages/server/src/v1/backup.ts': 'cuts real sockets that take nothing',
  'packages/server/src/http/linger.ts': 'delays the shutdown of real sockets',
  'packages/baton-lock/src/program.ts': 'injects the real ones',
  'packages/baton-lock/src/cli/': 'talks to a person at a terminal',
  'packages/dashboard/src/browser.ts': 'what a browser has, injected into the rest of the page',
  'internal/test-support/src/processes.ts': 'real processes on real machines',
  'internal/test-support/src/dialog.ts': 'real processes on real machines',
  'internal/faults/src/attacks/': 'real processes on real machines',
  'internal/faults/src/content/': 'real processes on real machines',
  'internal/faults/src/harness/': 'real processes on real machines',
  'internal/faults/src/simulator/cli.ts': 'reports how long a run took',
  'internal/faults/src/history/server-history.ts': 'measures the memory of a real server now and then',
  'internal/faults/src/history/journal.ts': 'the monotonic clock that all processes of a machine share',
  'internal/faults/src/history/shared-history.ts': 'compares that clock with the wall clock',
  'internal/faults/src/history/shared-history.test.ts': 'compares that clock with the wall clock',
}

/** The places in which the command line writes to a stream directly, and why. Everywhere else it uses print/say.ts, which escapes. */
const RAW_OUTPUT = {
  'packages/baton-lock/src/cli/print/say.ts': 'escapes what it writes, and clears a line',
  'packages/baton-lock/src/cli/commands/status.ts': 'paints what print/resource-view.ts has escaped',
  'packages/baton-lock/src/cli/watch/watch.ts': 'draws lines that watch/table.ts has escaped',
  'packages/baton-lock/src/cli/demo/registry.ts': 'answers HTTP requests',
  'packages/baton-lock/src/cli/run/waiting-line.ts': 'cuts what it has escaped to the width of the terminal',
}

/** The test code that starts processes by itself, and why. The rest uses the starter, which kills what it started. */
const OWN_SPAWNS = {
  'internal/test-support/src/processes.ts': 'the starter',
  'internal/test-support/src/certificates.ts': 'waits for openssl synchronously, where tests are declared',
  'internal/faults/src/content/mounts.ts': 'unmounts while its process exits, synchronously',
  'internal/bench/': 'is JavaScript that Node runs as it is, and cannot import the starter, which is TypeScript',
  'test/e2e/shell-command.mjs': 'is JavaScript that Node runs as it is, and ends its server',
}

describe('the sources', () => {
  const tree = readTree(root, ['packages', 'internal', 'test', 'scripts', 'examples'])

  test('the dashboard imports nothing that does not work in a browser', () => {
    expect(pageImports(tree)).toEqual([])
  })

  test('every export is imported somewhere', () => {
    expect(deadExports(tree, entriesOf(root))).toEqual([])
  })

  test('clocks, timers and randomness are injected', () => {
    expect(realTime(tree, Object.keys(REAL_TIME))).toEqual([])
  })

  test('every place that may use real time does', () => {
    const using = realTime(tree, []).map(({ path }) => path)
    expect(Object.keys(REAL_TIME).filter((place) => !using.some((path) => isIn(path, place)))).toEqual([])
  })

  test('test code starts processes by the one starter', () => {
    expect(ownSpawns(tree, Object.keys(OWN_SPAWNS))).toEqual([])
  })

  test('every place that may start processes by itself does', () => {
    const spawning = ownSpawns(tree, []).map(({ path }) => path)
    expect(Object.keys(OWN_SPAWNS).filter((place) => !spawning.some((path) => isIn(path, place)))).toEqual([])
  })

  test('nothing that others wrote reaches a terminal unescaped', () => {
    expect(rawOutput(tree, Object.keys(RAW_OUTPUT))).toEqual([])
  })
})

test('the pages name paths that exist', () => {
  const filesIn = (folder: string) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((path) => posix.join(folder, path))
  const paths = ['packages', 'internal', 'test', 'scripts', 'docs', 'deploy', 'examples', 'site'].flatMap(filesIn)
  // Not the changelog, which names files of its time.
  const pages = [
    'README.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
    ...paths.filter((path) => /^(docs|deploy)\/.*\.md$/.test(path)),
  ]
  const own = paths.filter((path) => !/\bnode_modules\//.test(path))
  expect(pages.flatMap((page) => missingPaths(own, page, readFileSync(join(root, page), 'utf8')))).toEqual([])
})

describe('the checks', () => {
  const said = (findings: Finding[]) => findings.map(({ path, what }) => `${path}: ${what}`)
  const packageOf = (name: string, exports: object) => JSON.stringify({ name, exports })

  test('the dashboard may not import what a browser does not have', () => {
    const tree = treeOf({
      'packages/dashboard/src/a.tsx': [
        "import { useState } from 'preact/hooks'",
        "import { readFileSync } from 'node:fs'",
        "import './style/a.css'",
        "import { whyText } from '@baton-lock/protocol/text/why-text'",
        "import { Service } from '@baton-lock/service'",
        'export const A = () => <p>{whyText}</p>',
      ].join('\n'),
      'packages/protocol/package.json': packageOf('@baton-lock/protocol', { './*': './src/*.ts' }),
      'packages/protocol/src/text/why-text.ts': 'export const whyText = 1',
      'packages/service/package.json': packageOf('@baton-lock/service', { '.': './src/index.ts' }),
      'packages/service/src/index.ts': 'export class Service {}',
    })
    expect(said(pageImports(tree))).toEqual([
      'packages/dashboard/src/a.tsx: imports packages/service/src/index.ts, which is not for a browser',
      'packages/dashboard/src/a.tsx: imports node:fs, which is not for a browser',
    ])
  })

  test('an export that nothing imports is found, however it is declared', () => {
    const tree = treeOf({
      'packages/a/src/a.ts': [
        'export const one = 1, two = 2',
        'export const { three, four: [five] } = { three: 3, four: [5] }',
        'export function six() {}',
        'export abstract class Seven {}',
        'export interface Eight {}',
        'export type Nine = Eight',
        'const ten = two + one',
        'export { ten, ten as eleven }',
      ].join('\n'),
      'packages/a/src/b.ts': "import { two, type Nine, ten as other } from './a.ts'",
    })
    const dead = ['one', 'three', 'five', 'six', 'Seven', 'Eight', 'eleven']
    expect(said(deadExports(tree, []))).toEqual(
      dead.map((name) => `packages/a/src/a.ts: exports ${name}, which nothing imports`),
    )
  })

  test('an export that an index passes on is used if somebody imports it there, or if users can', () => {
    const tree = treeOf({
      'packages/a/package.json': packageOf('a', { '.': { '@baton-lock/source': './src/index.ts' } }),
      'packages/a/src/a.ts': 'export const used = 1\nexport const unused = 2',
      'packages/a/src/b.ts': 'export const star = 1\nexport const starless = 2',
      'packages/a/src/index.ts': "export { used, unused as renamed } from './a.ts'\nexport * from './b.ts'",
      'test/a.test.ts': "import { used, star } from 'a'",
    })
    expect(said(deadExports(tree, []))).toEqual([
      'packages/a/src/a.ts: exports unused, which nothing imports',
      'packages/a/src/b.ts: exports starless, which nothing imports',
      'packages/a/src/index.ts: exports renamed, which nothing imports',
    ])
    expect(deadExports(tree, ['packages/a/src/index.ts'])).toEqual([])
  })

  test('of a module that is imported as a whole, the exports that are mentioned are used', () => {
    const tree = treeOf({
      'packages/a/package.json': packageOf('a', { './c': './src/c/index.ts', './*': './src/*.ts' }),
      'packages/a/src/a.ts': 'export const one = 1\nexport const two = 2\nexport const three = 3',
      'packages/a/src/b.ts': "import * as a from './a.ts'\nconst b = a.one",
      'packages/a/src/c/index.ts': 'export const four = 4\nexport const five = 5',
      'internal/d/src/d.ts': "const { two } = await import('a/a')",
      'scripts/e.mjs': "const { four } = await import('a/c')",
    })
    expect(said(deadExports(tree, []))).toEqual([
      'packages/a/src/a.ts: exports three, which nothing imports',
      'packages/a/src/c/index.ts: exports five, which nothing imports',
    ])
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
    const src = 'internal/a/src/'
    const tree = treeOf({ [`${src}a.ts`]: text, [`${src}b/c.ts`]: text, [`${src}d.ts`]: text, 'test/a.ts': text })
    expect(said(realTime(tree, [`${src}b/`, `${src}d.ts`]))).toEqual([`${src}a.ts: uses ${name}; have it injected`])
  })

  test('a date of a given time, and text about clocks, are no clocks', () => {
    const text = "// Date.now() and setTimeout\nconst date = new Date(0)\nconst text = 'Math.random()'\nclock.now()"
    expect(realTime(treeOf({ 'packages/a/src/a.ts': text }), [])).toEqual([])
  })

  test('test code that starts a process by itself is found', () => {
    const text = "import { spawn } from 'node:child_process'\nspawn('x')"
    const found = ['internal/a/src/b.ts', 'packages/a/src/b.test.ts', 'packages/a/test/c.ts', 'test/d.mjs']
    const paths = [...found, 'internal/a/src/e.ts', 'packages/a/src/b.ts', 'scripts/f.mjs']
    const tree = treeOf(Object.fromEntries(paths.map((path) => [path, text])))
    expect(ownSpawns(tree, ['internal/a/src/e.ts']).map(({ path }) => path)).toEqual(found)
  })

  test('a file of the command line that writes to a stream directly is found', () => {
    const text = 'export const say = (stdout) => stdout.write(1)'
    const src = 'packages/baton-lock/src/'
    const paths = ['cli/a.ts', 'cli/a.test.ts', 'cli/b/c.ts', 'd.ts'].map((path) => src + path)
    const tree = treeOf(Object.fromEntries(paths.map((path) => [path, text])))
    expect(said(rawOutput(tree, [`${src}cli/b/`]))).toEqual([`${src}cli/a.ts: writes to a stream; use print/say.ts`])
  })

  test('a path is found that a page names and that does not exist', () => {
    const paths = ['packages/a/src/b.ts', 'packages/a/test/c.test.ts', 'scripts/d.mjs', 'docs/e.md']
    const present = ['packages/a/src/b.ts', 'packages/*/src', 'packages/*/test/*.test.ts', 'docs/', 'b.ts', 'd.mjs']
    const missing = ['f.ts', 'src/b.ts', 'packages/b/src', 'packages/a/sr', 'test/*.ts', 'docs/x.md']
    const ignored = ['packages/a/dist/x.js', 'g', 'a/b', 'x.json', 'npm test -- test/i.ts']
    const text = [...present, ...missing, ...ignored].map((name) => `\`${name}\``).join(' ')
    expect(said(missingPaths(paths, 'docs/x.md', `${text} h.ts`))).toEqual(
      missing.map((name) => `docs/x.md: names ${name}, which does not exist`),
    )
  })
})
