import { oneLine } from '../protocol/index.ts'

/** Where a program does not say what to do with notices, they are warnings of its process: on stderr, unless it hears them. */
export function warn(notice: string): void {
  process.emitWarning(oneLine(notice), 'BatonNotice')
}
