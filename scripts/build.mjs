// Builds the packages that are published, and the programs of internal/faults: each into its own `dist`, beside it and then in
// its place, so that whoever runs the old one is not disturbed.
// `--if-missing`: only if there is no build, as after `npm ci`. `--no-types`: without declarations, which only users need.
import { chmodSync, cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildPage } from './build-page.mjs'
import { bundle, entriesOf, installedWith, writeLicences } from './bundle.mjs'
import { bundleDeclarations, emitDeclarations } from './declarations.mjs'
import { faultPrograms } from './fault-programs.mjs'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))

const COMMAND_LINE = 'packages/baton-lock'
if (process.argv.includes('--if-missing') && existsSync(`${COMMAND_LINE}/dist/dashboard`)) process.exit()

const isPublished = (folder) => !JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).private
const published = readdirSync('packages')
  .map((name) => join('packages', name))
  .filter(isPublished)

await Promise.all([
  ...published.map((folder) => replacing(folder, (fresh) => buildPackage(folder, fresh))),
  replacing('internal/faults', (fresh) => bundle(faultPrograms(fresh))),
])
// The recorded server serves the page too.
cpSync(`${COMMAND_LINE}/dist/dashboard`, 'internal/faults/dist/dashboard', { recursive: true })
if (!process.argv.includes('--no-types')) await buildTypes()

async function buildPackage(folder, fresh) {
  const entries = entriesOf(folder)
  const external = installedWith(folder)
  const isCommandLine = folder === COMMAND_LINE
  const programs = isCommandLine ? { main: join(folder, 'src/main.ts') } : {}
  const modules = await bundle({ entries: { ...entries, ...programs }, external, outDir: fresh })
  await bundle({ entries, external, outDir: fresh, cjs: true })
  writeLicences(join(fresh, 'LICENSES.txt'), modules)
  if (!isCommandLine) return
  chmodSync(join(fresh, 'main.js'), 0o755)
  await buildPage(fresh)
}

async function buildTypes() {
  const emitted = mkdtempSync('dist.types-')
  try {
    if (!emitDeclarations(emitted)) process.exit(1)
    for (const folder of published) await bundleDeclarations(folder, { emitted, outDir: join(folder, 'dist') })
  } finally {
    rmSync(emitted, { recursive: true, force: true })
  }
}

/** Has `dist` of a folder made anew, and replaces the old one once that is done. */
async function replacing(folder, build) {
  const [dist, fresh, stale] = ['dist', `dist.new-${process.pid}`, `dist.old-${process.pid}`].map((name) =>
    join(folder, name),
  )
  try {
    await build(fresh)
    if (existsSync(dist)) renameSync(dist, stale)
    renameSync(fresh, dist)
  } finally {
    for (const left of [fresh, stale]) rmSync(left, { recursive: true, force: true })
  }
}
