// Builds dist/ from src/, beside it and then in its place: who runs the old one meanwhile is not disturbed.
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, renameSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
const fresh = `dist.new-${process.pid}`
const stale = `dist.old-${process.pid}`
const { status } = spawnSync(
  process.execPath,
  ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', '--outDir', fresh],
  { stdio: 'inherit' },
)
if (status === 0) {
  chmodSync(`${fresh}/main.js`, 0o755)
  if (existsSync('dist')) renameSync('dist', stale)
  renameSync(fresh, 'dist')
}
for (const left of [fresh, stale]) rmSync(left, { recursive: true, force: true })
process.exit(status ?? 1)
