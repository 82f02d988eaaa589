// The command line in few files, with the packages that it uses: to find and open some five hundred of them took half of the
// time until a server was ready. What is loaded when it is needed, a server, say, stays apart.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { rolldown } from 'rolldown'

/**
 * Loaded from where they are installed: the drivers and OpenTelemetry are the user's own; protobufjs does without `long` where it does not find it, and
 * nobody would notice but by numbers that are less exact; the others are native, and ws goes without them.
 */
const INSTALLED = /^(mysql2|@grpc\/grpc-js|@opentelemetry\/api|protobufjs|bufferutil|utf-8-validate)(\/|$)/

/**
 * What Fastify has for the schemas and tests of a server, and what pino has for logs that are written by a thread of their own.
 * This one does without: see `server/connections.ts` and `server/json-lines.ts`.
 */
const UNUSED = /^(@fastify\/ajv-compiler|@fastify\/fast-json-stringify-compiler|light-my-request|thread-stream)$/
const unused = {
  name: 'unused',
  resolveId: (id) => (UNUSED.test(id) ? '\0unused' : undefined),
  load: (id) =>
    id === '\0unused'
      ? `module.exports = () => () => { throw new Error('not bundled: scripts/bundle.mjs') }`
      : undefined,
}

/** Bundles `main.js` of this folder in its place, and what it loads later into `main/`. */
export async function bundleMain(folder) {
  const bundle = await rolldown({
    input: `${folder}/main.js`,
    platform: 'node',
    external: INSTALLED,
    plugins: [unused],
  })
  const { output } = await bundle.write({
    dir: folder,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'main/[name].js',
  })
  await bundle.close()
  writeFileSync(`${folder}/main/LICENSES.txt`, licences(output.flatMap(({ moduleIds }) => moduleIds ?? [])))
}

/** The texts that have to go along with these packages. */
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
