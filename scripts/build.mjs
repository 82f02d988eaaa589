// Builds dist/ from src/, beside it and then in its place: who runs the old one meanwhile is not disturbed.
// `--if-missing`: only where there is none, as after an install from git.
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildPage } from './build-page.mjs'
import { bundleMain } from './bundle.mjs'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
if (process.argv.includes('--if-missing') && existsSync('dist/dashboard')) process.exit()
const fresh = `dist.new-${process.pid}`
const stale = `dist.old-${process.pid}`
const { status } = spawnSync(
  process.execPath,
  ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', '--outDir', fresh],
  { stdio: 'inherit' },
)
try {
  if (status === 0) {
    await bundleMain(fresh)
    await buildPage(fresh)
    chmodSync(`${fresh}/main.js`, 0o755)
    writeCommonJsTypes(fresh)
    if (existsSync('dist')) renameSync('dist', stale)
    renameSync(fresh, 'dist')
  }
} finally {
  for (const left of [fresh, stale]) rmSync(left, { recursive: true, force: true })
}
process.exit(status ?? 1)

/**
 * The same declarations once more, as those of CommonJS modules: `require()` loads the ES modules as they are, but before 5.8
 * TypeScript does not believe that (TS1479).
 */
function writeCommonJsTypes(folder) {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.d.ts'))
  for (const path of paths) {
    const text = readFileSync(join(folder, path), 'utf8')
    const renamed = text.replaceAll(/(\bfrom |\bimport\()(['"])(\.[^'"]*)\.ts\2/g, '$1$2$3.cts$2')
    writeFileSync(join(folder, path.replace(/\.ts$/, '.cts')), renamed)
  }
}
