// Builds what is needed, then becomes the server: `npm start -- --port 0`.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url))
if (isStale()) {
  console.error('building …')
  const build = spawnSync(process.execPath, [root('scripts/build.mjs')], { stdio: 'inherit' })
  if (build.status !== 0) process.exit(build.status ?? 1)
}
const server = spawn(process.execPath, [root('dist/main.js'), 'serve', ...process.argv.slice(2)], { stdio: 'inherit' })
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => server.kill(signal))
server.on('exit', (code, signal) => process.exit(signal ? 1 : (code ?? 1)))

/** Whether something that the build is made of is newer than it; a folder is, where a file in it was added or removed. */
function isStale() {
  if (!existsSync(root('dist/main.js'))) return true
  const builtMs = statSync(root('dist/main.js')).mtimeMs
  const own = readdirSync(root('.')).filter((name) => /\.json$/.test(name))
  const within = ['src', 'scripts'].flatMap((folder) => [
    folder,
    ...readdirSync(root(folder), { recursive: true }).map((path) => join(folder, path)),
  ])
  return [...own, ...within].some((path) => statSync(root(path)).mtimeMs > builtMs)
}
