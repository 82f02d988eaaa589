import { readFileSync } from 'node:fs'
import { UsageError } from '../exit.ts'

export function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    const why = (cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'there is no such file' : (cause as Error).message
    throw new UsageError(`cannot read ${path}: ${why}; check the path`, { cause })
  }
}
