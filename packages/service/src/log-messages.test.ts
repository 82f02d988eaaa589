import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const docs = readFileSync(join(root, 'docs/operations.md'), 'utf8')

/** Where the calls are made that have no message of their own. */
const WRITERS = ['packages/service/src/log.ts', 'packages/server/src/logging/json-lines.ts']

function sources(): { readonly path: string; readonly text: string }[] {
  const folders = ['packages/service/src', 'packages/server/src', 'packages/store/src']
  const paths = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`),
  )
  return [...paths, 'packages/baton-lock/src/main.ts', 'packages/baton-lock/src/cli/commands/serve.ts']
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts') && !WRITERS.includes(path))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
}

/** Every call of a log: its level, and its message; where that is not written there, what stands in its place. */
function calls(): { readonly path: string; readonly level: string; readonly message: string }[] {
  const call = /\.(debug|info|warn|error)\(\s*(?:'((?:[^'\\]|\\.)*)'|([^\s,)]*))/g
  return sources().flatMap(({ path, text }) =>
    [...text.matchAll(call)].map(([, level, message, other]) => ({
      path,
      level: level!,
      message: message ?? `not a text: ${other}`,
    })),
  )
}

test('docs/operations.md and the code know the same messages of the log, at the same levels, both ways', () => {
  const [section = ''] = docs.slice(docs.indexOf('\n## Logs\n') + 1).split('\n## ', 1)
  const documented = [...section.matchAll(/^\| `([^`]+)` \| (debug|info|warn|error) \| .+ \|$/gm)].map(
    ([, message, level]) => `${level} ${message}`,
  )
  const written = new Set(calls().map(({ level, message }) => `${level} ${message}`))
  expect([...written].sort()).toEqual(documented.sort())
})

test('every message is a text that is written where it is logged: nothing that others chose is in it', () => {
  expect(calls().filter(({ message }) => message.startsWith('not a text'))).toEqual([])
  expect(calls().length).toBeGreaterThan(20)
})
