import type { SourceFile, SourceTree } from './source-tree.ts'

export interface Finding {
  readonly path: string
  readonly what: string
}

const SOURCES = /^(packages|internal)\/[^/]+\/src\//

/** npm packages that the dashboard may import. */
const PAGE_PACKAGES = new Set(['preact', 'preact/hooks', '@preact/signals'])

/** Imports of the dashboard that do not work in a browser. dependency-cruiser does not read TSX. */
export function pageImports(tree: SourceTree): Finding[] {
  const isOwn = (path: string) => /^packages\/(dashboard|protocol|core)\//.test(path)
  return sources(tree)
    .filter(({ path }) => path.startsWith('packages/dashboard/') && !isTest(path))
    .flatMap(({ path, takes, packages }) =>
      [
        ...takes.map(({ from }) => from).filter((from) => !isOwn(from)),
        ...[...packages].filter((name) => !PAGE_PACKAGES.has(name) && !name.endsWith('.css')),
      ].map((name) => ({ path, what: `imports ${name}, which is not for a browser` })),
    )
}

/** Exports of the sources that no other file imports, except those of `entries`, which users import. */
export function deadExports(tree: SourceTree, entries: readonly string[]): Finding[] {
  const live = new Set<string>()
  const use = (path: string, name: string): void => {
    const file = tree.get(path)
    if (!file || live.has(`${path} ${name}`)) return
    if (file.exports.has(name)) live.add(`${path} ${name}`)
    const passed = file.exports.get(name)
    if (passed) use(passed.from, passed.name)
    if (!file.exports.has(name)) for (const star of file.stars) use(star, name)
  }
  for (const entry of entries) for (const name of allExports(tree, entry)) use(entry, name)
  for (const { takes, identifiers } of tree.values()) {
    for (const { from, names } of takes) {
      const taken = names === 'mentioned' ? allExports(tree, from).filter((name) => identifiers.has(name)) : names
      for (const name of taken) use(from, name)
    }
  }
  return sources(tree).flatMap(({ path, exports }) =>
    [...exports.keys()]
      .filter((name) => !live.has(`${path} ${name}`))
      .map((name) => ({ path, what: `exports ${name}, which nothing imports` })),
  )
}

function allExports(tree: SourceTree, path: string): string[] {
  const file = tree.get(path)
  return file ? [...file.exports.keys(), ...file.stars.flatMap((star) => allExports(tree, star))] : []
}

/** These files and all files that they need, directly or indirectly. */
export function reachable(tree: SourceTree, entries: readonly string[]): ReadonlySet<string> {
  const found = new Set<string>()
  const add = (path: string): void => {
    const file = tree.get(path)
    if (!file || found.has(path)) return
    found.add(path)
    const passed = [...file.exports.values()].flatMap((each) => each?.from ?? [])
    for (const from of [...file.takes.map((each) => each.from), ...passed, ...file.stars]) add(from)
  }
  for (const entry of entries) add(entry)
  return found
}

const CLOCKS = ['Date.now', 'new Date()', 'performance.now', 'process.hrtime', 'Math.random']
const TIMERS = ['setTimeout', 'setInterval', 'randomBytes', 'randomUUID']

/** Clocks, timers and randomness outside of the files and folders that may use the real ones. */
export function realTime(tree: SourceTree, allowed: readonly string[]): Finding[] {
  return sources(tree)
    .filter(({ path }) => !allowed.some((each) => isIn(path, each)))
    .flatMap(({ path, members, identifiers }) =>
      [...CLOCKS.filter((each) => members.has(each)), ...TIMERS.filter((each) => identifiers.has(each))].map(
        (each) => ({ path, what: `uses ${each}; have it injected` }),
      ),
    )
}

const TEST_CODE = /^(internal|test)\/|^packages\/[^/]+\/test\/|\.test\.ts$/

/** Test code that starts processes by itself, except `allowed`: nobody kills those when a worker of vitest dies. */
export function ownSpawns(tree: SourceTree, allowed: readonly string[]): Finding[] {
  return [...tree.values()]
    .filter(({ path, packages }) => TEST_CODE.test(path) && packages.has('node:child_process'))
    .filter(({ path }) => !allowed.some((each) => isIn(path, each)))
    .map(({ path }) => ({ path, what: 'imports node:child_process; use @baton-lock/test-support/processes' }))
}

const COMMAND_LINE = 'packages/baton-lock/src/cli/'

/** Files of the command line that write to a stream directly, except `allowed`. */
export function rawOutput(tree: SourceTree, allowed: readonly string[]): Finding[] {
  return sources(tree)
    .filter(({ path, identifiers }) => isIn(path, COMMAND_LINE) && !isTest(path) && identifiers.has('write'))
    .filter(({ path }) => !allowed.some((each) => isIn(path, each)))
    .map(({ path }) => ({ path, what: 'writes to a stream; use print/say.ts' }))
}

const IN_REPOSITORY = /^(packages|internal|test|scripts|docs|deploy|examples|site)\//
/** Output of a build, which need not exist. */
const BUILT = /\/dist(\/|$)/
const SOURCE_FILE = /^\w[\w./*-]*\.(ts|tsx|mjs)$/

/**
 * Paths that a page names in backticks and that do not exist. A path begins at the root of the repository; a source file may
 * also be named without its folder. A star stands for any name.
 */
export function missingPaths(paths: readonly string[], page: string, text: string): Finding[] {
  const named = [...text.matchAll(/`([^`\s]+)`/g)]
    .map(([, name]) => name!)
    .filter((name) => (IN_REPOSITORY.test(name) || SOURCE_FILE.test(name)) && !BUILT.test(name))
  return named
    .filter((name) => !paths.some((path) => patternOf(name).test(path)))
    .map((name) => ({ path: page, what: `names ${name}, which does not exist` }))
}

/** Matches a file by its path or its name, and the files in a folder. */
function patternOf(name: string): RegExp {
  const path = name
    .replace(/\/$/, '')
    .replaceAll(/[.+()[\]$^|?]/g, '\\$&')
    .replaceAll('*', '[^/]*')
  return new RegExp(`^${name.includes('/') ? '' : '(.*/)?'}${path}(/|$)`)
}

function sources(tree: SourceTree): SourceFile[] {
  return [...tree.values()].filter(({ path }) => SOURCES.test(path))
}

/** A place is a file, or a folder with a slash at its end. */
export function isIn(path: string, place: string): boolean {
  return place.endsWith('/') ? path.startsWith(place) : path === place
}

function isTest(path: string): boolean {
  return path.endsWith('.test.ts')
}
