import type { SourceFile, SourceTree } from './source-tree.ts'

export interface Finding {
  readonly path: string
  readonly what: string
}

/** The last number of lines that fits on a few screens. */
const LINES = 300

export function longFiles(tree: SourceTree): Finding[] {
  return sources(tree)
    .filter(({ lines }) => lines > LINES)
    .map(({ path, lines }) => ({ path, what: `${lines} lines, more than ${LINES}` }))
}

/** What runs in a browser takes nothing but itself, the protocol, types, and these packages. */
const PAGE_PACKAGES = new Set(['preact', 'preact/hooks', '@preact/signals'])

export function pageImports(tree: SourceTree): Finding[] {
  const isOwn = (path: string) => /^src\/(dashboard|protocol|core)\//.test(path)
  return sources(tree)
    .filter(({ path }) => path.startsWith('src/dashboard/') && !path.endsWith('.test.ts'))
    .flatMap(({ path, takes, packages }) =>
      [
        ...takes.map(({ from }) => from).filter((from) => !isOwn(from)),
        ...[...packages].filter((name) => !PAGE_PACKAGES.has(name) && !name.endsWith('.css')),
      ].map((name) => ({ path, what: `imports ${name}, which is not for a browser` })),
    )
}

/** What is built must not need what is not. */
export function importsOfTests(tree: SourceTree): Finding[] {
  return sources(tree).flatMap(({ path, takes }) =>
    takes.filter(({ from }) => from.startsWith('test/')).map(({ from }) => ({ path, what: `imports ${from}` })),
  )
}

/** Exports of src that nobody takes, but for those of the files that users import by `entries`. */
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

/** All files that some files need, by importing them, passing them on or loading them by name; those files included. */
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

/** What users can import and what no doc comment explains; of the types in `explained`, their members too. */
export function undocumented(tree: SourceTree, entries: readonly string[], explained: readonly string[]): Finding[] {
  const findings = new Map<string, Finding>()
  const find = (path: string, name: string): void => {
    const file = tree.get(path)
    const passed = file?.exports.get(name)
    if (passed) find(passed.from, passed.name)
    if (file && !file.exports.has(name)) for (const star of file.stars) find(star, name)
    for (const [declared, isDocumented] of file?.declarations ?? []) {
      const isMeant = declared === name || (explained.includes(path) && declared.startsWith(`${name}.`))
      if (isMeant && !isDocumented)
        findings.set(`${path} ${declared}`, { path, what: `says nothing of ${declared}, which users see` })
    }
  }
  for (const entry of entries) for (const name of allExports(tree, entry)) find(entry, name)
  return [...findings.values()]
}

const CLOCKS = ['Date.now', 'new Date()', 'performance.now', 'process.hrtime', 'Math.random']
const TIMERS = ['setTimeout', 'setInterval', 'randomBytes', 'randomUUID']

/** Time, timers and chance outside of the files and folders that may touch the real ones. */
export function realTime(tree: SourceTree, allowed: readonly string[]): Finding[] {
  return sources(tree)
    .filter(({ path }) => !allowed.some((each) => isIn(path, each)))
    .flatMap(({ path, members, identifiers }) =>
      [...CLOCKS.filter((each) => members.has(each)), ...TIMERS.filter((each) => identifiers.has(each))].map(
        (each) => ({ path, what: `uses ${each}; have it injected` }),
      ),
    )
}

/** Files of the command line that write to a stream themselves; `allowed`: those that do so with care. */
export function rawOutput(tree: SourceTree, allowed: readonly string[]): Finding[] {
  return sources(tree)
    .filter(({ path, identifiers }) => isIn(path, 'src/cli/') && !isTest(path) && identifiers.has('write'))
    .filter(({ path }) => !allowed.some((each) => isIn(path, each)))
    .map(({ path }) => ({ path, what: 'writes by itself; use print/say.ts' }))
}

const SQL =
  /\b(SELECT|INSERT|UPDATE|DELETE|CREATE TABLE|ALTER TABLE|START TRANSACTION|COMMIT|ROLLBACK|KILL QUERY|UNIX_TIMESTAMP)\b/

/**
 * Files of a store in a SQL database that could stand in any other store: no SQL, no driver, none of its error numbers. Every
 * store has an index and a `kind.ts`.
 */
export function withoutSql(tree: SourceTree, folder: string, driver: string): Finding[] {
  return sources(tree)
    .filter(
      ({ path, exports }) => isIn(path, folder) && !isTest(path) && !isIndex(exports) && !path.endsWith('/kind.ts'),
    )
    .filter(
      ({ strings, packages, identifiers }) =>
        !strings.some((each) => SQL.test(each)) && !packages.has(driver) && !identifiers.has('errno'),
    )
    .map(({ path }) => ({ path, what: `has neither SQL nor ${driver} in it` }))
}

/** It only passes on what others export. */
function isIndex(exports: SourceFile['exports']): boolean {
  return exports.size > 0 && [...exports.values()].every((passed) => passed !== undefined)
}

/** A word that was replaced, and by what. */
export interface ReplacedWord {
  readonly word: string
  readonly now: string
  /** Only there: elsewhere it means something else. */
  readonly in?: readonly string[]
  /** Only as a name of its own, not as a part of one. */
  readonly isName?: true
  /** Names that packages have, which are not ours to change. */
  readonly except?: readonly string[]
}

export function replacedWords(tree: SourceTree, replaced: readonly ReplacedWord[]): Finding[] {
  return [...tree.values()].flatMap(({ path, identifiers }) => {
    const names = [path.slice(path.lastIndexOf('/') + 1), ...identifiers]
    const words = new Map(names.map((name) => [name, ` ${wordsOf(name).join(' ')} `]))
    return replaced
      .filter((each) => each.in === undefined || each.in.some((folder) => isIn(path, folder)))
      .flatMap(({ word, now, isName, except = [] }) =>
        names
          .filter((name) => !except.includes(name))
          .filter((name) => (isName ? name === word : words.get(name)!.includes(` ${word} `)))
          .map((name) => ({ path, what: `${name}: not '${word}' but '${now}'` })),
      )
  })
}

/** `grantInTheWay` and `grant-in-the-way.ts` are the same words. */
function wordsOf(name: string): string[] {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
}

/** Files that a page names in backticks and that are not there: by their path under src or from the root, or by name alone. */
export function namedFiles(tree: SourceTree, path: string, text: string): Finding[] {
  const names = [...text.matchAll(/`([\w./-]+\.(?:ts|mjs))`/g)].map(([, name]) => name!)
  const paths = [...tree.keys()]
  return names
    .filter((name) => !paths.some((each) => each === name || each === `src/${name}` || isNamed(each, name)))
    .map((name) => ({ path, what: `names ${name}, which is not there` }))
}

function isNamed(path: string, name: string): boolean {
  return !name.includes('/') && path.endsWith(`/${name}`)
}

function sources(tree: SourceTree): SourceFile[] {
  return [...tree.values()].filter(({ path }) => path.startsWith('src/'))
}

/** A place is a file, or a folder with a slash at its end. */
export function isIn(path: string, place: string): boolean {
  return place.endsWith('/') ? path.startsWith(place) : path === place
}

function isTest(path: string): boolean {
  return path.endsWith('.test.ts')
}
