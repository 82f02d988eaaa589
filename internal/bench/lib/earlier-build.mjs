import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { buildIn, root } from './build.mjs'
import { progress } from './progress.mjs'
import { temporaryFolder } from './servers.mjs'

/** Builds a commit in a temporary folder, with the dependencies of its own lock file. Returns its parts, as `buildIn` does. */
export function buildOf(ref) {
  const folder = temporaryFolder()
  const tree = join(folder, 'tree')
  const archive = join(folder, 'tree.tar')
  progress(`building ${ref}`)
  mkdirSync(tree)
  run('git', ['archive', '--output', archive, ref], root)
  run('tar', ['-xf', archive], tree)
  run('npm', ['ci', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'], tree)
  run(process.execPath, ['scripts/build.mjs', '--no-types'], tree)
  progress()
  // Until 768272c, everything was in one package.
  const dist = join(tree, 'dist')
  if (existsSync(dist)) return { main: join(dist, 'main.js'), library: join(dist, 'client/index.js') }
  return buildIn(tree)
}

function run(program, args, cwd) {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${error?.message ?? `${stdout}${stderr}`}`)
}
