import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './page.ts'

/** The text of all sources of the packages, without their tests. */
export function readSources(): string {
  return readdirSync(join(root, 'packages'))
    .flatMap((name) => {
      const folder = join(root, 'packages', name, 'src')
      return readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path))
    })
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
    .map((path) => readFileSync(path, 'utf8'))
    .join('\n')
}
