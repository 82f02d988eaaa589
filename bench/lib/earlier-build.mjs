import { spawnSync } from 'node:child_process'
import { existsSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { progress } from './progress.mjs'
import { temporaryFolder } from './servers.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Builds a commit in a worktree of its own, which goes when this process ends. Returns where the build is. */
export function buildOf(ref) {
  const tree = join(temporaryFolder(), 'tree')
  const run = (program, args, cwd) => {
    const { status, stderr } = spawnSync(program, args, { cwd, encoding: 'utf8' })
    if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr}`)
  }
  progress(`building ${ref}`)
  run('git', ['worktree', 'add', '--detach', tree, ref], root)
  process.on('exit', () => spawnSync('git', ['worktree', 'remove', '--force', tree], { cwd: root }))
  symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'))
  run(process.execPath, ['scripts/build.mjs'], tree)
  progress()
  const dist = join(tree, 'dist')
  if (!existsSync(dist)) throw new Error(`${ref} has left no build`)
  return dist
}
