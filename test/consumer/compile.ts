import { join } from 'node:path'
import { type Project, root } from './fresh-project.ts'

/** The declarations of packages are checked; those of the compiler itself are not. */
const CHECKED = ['--skipLibCheck', 'false', '--skipDefaultLibCheck', 'true']
const LANGUAGE = ['--target', 'es2022', '--lib', 'es2023,esnext.disposable', '--types', 'node', '--strict']

/** Compiles a project by one of the compilers of this repository; returns what that finds wrong. */
export async function compile(project: Project, compiler: string, flags: readonly string[]): Promise<string> {
  const tsc = join(root, 'node_modules', compiler, 'bin/tsc')
  const given = flags.includes('-p') ? flags : [...CHECKED, ...LANGUAGE, ...flags]
  const { stdout } = await project.node(tsc, ...given).catch((error) => error)
  return stdout
}
