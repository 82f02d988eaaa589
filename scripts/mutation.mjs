// Automatic mutation of the core: `npm run mutation`, or `npm run mutation -- --mutate packages/core/src/state/queue.ts` for a part of it.
// Stryker is not among the dependencies: it would double what `npm ci` installs, for a run that is made now and then.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))

const VERSION = '9.6.1'
const packages = ['@stryker-mutator/core', '@stryker-mutator/vitest-runner']

if (!packages.every((name) => existsSync(`node_modules/${name}`))) {
  console.error('Stryker is not installed. Install it beside the rest, and start again:')
  console.error(`  npm i --no-save ${packages.map((name) => `${name}@${VERSION}`).join(' ')}`)
  process.exit(1)
}

const stryker = `node_modules/${packages[0]}/bin/stryker.js`
const { status } = spawnSync(process.execPath, [stryker, 'run', ...process.argv.slice(2)], { stdio: 'inherit' })
process.exit(status ?? 1)
