import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'

/** The package.json of a workspace, as far as it matters here. */
export interface Manifest {
  readonly name: string
  readonly private?: boolean
  readonly exports?: Readonly<Record<string, Target>>
}

/** An entry of `exports`: a path, or what each condition leads to. */
type Target = string | { readonly '@baton-lock/source'?: string; readonly import?: string | { types?: string } }

/** The source that an entry of `exports` leads to, from the folder of its package. */
export function sourceOf(target: Target): string | undefined {
  return typeof target === 'string' ? target : target['@baton-lock/source']
}

/** The sources of what users import: the entries with types of the packages that are published. */
export function entriesOf(root: string): string[] {
  return readdirSync(join(root, 'packages')).flatMap((name) => {
    const folder = posix.join('packages', name)
    const manifest: Manifest = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
    if (manifest.private) return []
    return Object.values(manifest.exports ?? {})
      .filter((target) => typeof target === 'object' && typeof target.import === 'object' && target.import.types)
      .map((target) => posix.join(folder, sourceOf(target)!))
  })
}
