// Builds what is needed, then becomes the server: `npm start -- --port 0`.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url))
const MAIN = root('packages/baton-lock/dist/main.js')

if (isStale()) {
  console.error('building …')
  const build = spawnSync(process.execPath, [root('scripts/build.mjs')], { stdio: 'inherit' })
  if (build.status !== 0) process.exit(build.status ?? 1)
}
const server = spawn(process.execPath, [MAIN, 'serve', ...process.argv.slice(2)], { stdio: 'inherit' })
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => server.kill(signal))
server.on('exit', (code, signal) => process.exit(signal ? 1 : (code ?? 1)))

/** Whether anything that the build reads is newer than it. Folders count too: adding or removing a file changes them. */
function isStale() {
  if (!existsSync(MAIN)) return true
  const builtMs = statSync(MAIN).mtimeMs
  const settings = readdirSync(root('.')).filter((name) => name.endsWith('.json'))
  const packages = readdirSync(root('packages'))
    .map((name) => `packages/${name}`)
    .filter((folder) => existsSync(root(`${folder}/package.json`)))
    .flatMap((folder) => [`${folder}/package.json`, ...allIn(`${folder}/src`)])
  return [...settings, ...packages, ...allIn('scripts')].some((path) => statSync(root(path)).mtimeMs > builtMs)
}

/** The folder and everything in it. */
function allIn(folder) {
  return [folder, ...readdirSync(root(folder), { recursive: true }).map((path) => join(folder, path))]
}
