import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** What users import: the sources of package.json's `exports`. A `*` stands for any of the folders there. */
export function entriesOf(root: string): string[] {
  const { exports }: { exports: Record<string, { default: string }> } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  )
  return Object.values(exports)
    .map((each) => each.default.replace('./dist/', 'src/').replace('.js', '.ts'))
    .flatMap((path) => {
      const [folder, file] = path.split('*')
      return file === undefined ? path : readdirSync(join(root, folder!)).map((name) => `${folder}${name}${file}`)
    })
}
