import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Bug } from './bug.ts'
import { bugs } from './bugs.ts'

export const root = fileURLToPath(new URL('../../../', import.meta.url))

/** Names the bug that vitest plants: see `vitest.config.ts`. */
export const PLANTED_BUG = 'BATON_PLANTED_BUG'

/** A plugin for rolldown and for Vite. */
export interface Planting {
  readonly name: string
  /** Vite: before TypeScript becomes JavaScript. */
  readonly enforce: 'pre'
  transform(source: string, id: string): { readonly code: string; readonly map: null } | undefined
}

/** Plants a bug into its file while that is loaded. The file itself stays as it is. `onPlanted`: it was loaded. */
export function planting(bug: Bug, onPlanted = () => {}): Planting {
  return {
    name: 'planted-bug',
    enforce: 'pre',
    transform(source, id) {
      if (relative(root, id.replace(/\?.*$/, '')) !== bug.file) return undefined
      const code = planted(bug, source)
      onPlanted()
      return { code, map: null }
    },
  }
}

/** The source of the file with the bug. */
export function planted({ name, file, find, replace }: Bug, source: string): string {
  const parts = source.split(find)
  if (parts.length !== 2) throw new Error(`'${name}': ${find} occurs ${parts.length - 1} times in ${file}, not once`)
  return parts.join(replace)
}

export function bugNamed(name: string): Bug {
  const bug = bugs.find((each) => each.name === name)
  if (!bug) throw new Error(`there is no planted bug of the name '${name}'`)
  return bug
}
