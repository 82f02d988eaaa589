// Bundles the sources of a package, with those of the private workspaces that it uses, by rolldown.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rolldown } from 'rolldown'

/** The export condition that leads to the sources of a workspace. */
const SOURCE = '@baton-lock/source'

/** Native add-ons that `ws` uses if they are installed. */
const NATIVE = ['bufferutil', 'utf-8-validate']

/** What pino has for logs that a worker thread writes. This server has none: see `json-lines.ts` of packages/server. */
const UNUSED = 'thread-stream'
const leaveOutUnused = {
  name: 'leave-out-unused',
  resolveId: (id) => (id === UNUSED ? '\0unused' : undefined),
  load: (id) =>
    id === '\0unused'
      ? `module.exports = () => () => { throw new Error('not bundled: scripts/bundle.mjs') }`
      : undefined,
}

/**
 * Writes `entries` (names to source files) to `outDir`, shared code to the folder `chunks` in it. What `external` names is loaded from
 * where it is installed. `cjs` writes CommonJS. `plugins` may change sources, as the planted bugs do. `sourcemap` writes source maps.
 */
export async function bundle({
  entries,
  outDir,
  external,
  cjs = false,
  chunks = 'chunks/',
  plugins = [],
  sourcemap = false,
}) {
  const names = [...external, ...NATIVE]
  const isExternal = (id) => names.some((name) => id === name || id.startsWith(`${name}/`))
  const build = await rolldown({
    input: entries,
    platform: 'node',
    external: isExternal,
    plugins: [leaveOutUnused, ...plugins],
    resolve: { conditionNames: [SOURCE, cjs ? 'require' : 'import', 'node', 'default'] },
  })
  const ending = cjs ? 'cjs' : 'js'
  const { output } = await build.write({
    dir: outDir,
    format: cjs ? 'cjs' : 'esm',
    sourcemap,
    entryFileNames: `[name].${ending}`,
    chunkFileNames: `${chunks}[name]-[hash].${ending}`,
    ...(cjs && { dynamicImportInCjs: false }),
  })
  await build.close()
  return output.flatMap(({ moduleIds }) => moduleIds ?? [])
}

/** The entries that a package exports, name to source, as its package.json has them; `typed`: only those with types. */
export function entriesOf(folder, { typed = false } = {}) {
  const { exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const sources = Object.values(exports).flatMap((each) =>
    each.import && (each.import.types || !typed) ? [each[SOURCE]] : [],
  )
  return Object.fromEntries(
    sources.map((source) => [source.slice('./src/'.length, -'.ts'.length), join(folder, source)]),
  )
}

/** What npm installs with a package. */
export function installedWith(folder) {
  const { dependencies = {}, peerDependencies = {} } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return [...Object.keys(dependencies), ...Object.keys(peerDependencies)]
}

/** Writes the licences of the packages that were bundled, if there are any. */
export function writeLicences(file, moduleIds) {
  const text = licences(moduleIds)
  if (text !== '') writeFileSync(file, text)
}

/** The licence texts of the packages that these modules belong to. */
export function licences(moduleIds) {
  const folders = new Set(moduleIds.map((id) => /^.*\/node_modules\/(@[^/]+\/)?[^/]+(?=\/)/.exec(id)?.[0] ?? ''))
  folders.delete('')
  return [...folders]
    .map(licenceOf)
    .sort()
    .join(`\n${'-'.repeat(80)}\n\n`)
}

function licenceOf(folder) {
  const { name, version, license, author } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'))
  const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each))
  if (file !== undefined) return `${name} ${version}\n\n${readFileSync(`${folder}/${file}`, 'utf8').trim()}\n`
  if (license !== 'MIT' || !author) throw new Error(`${name} would be bundled without its licence`)
  return `${name} ${version}\n\nMIT License, as in LICENSE of this package\n\nCopyright (c) ${author.name ?? author}\n`
}
