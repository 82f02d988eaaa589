import { oneLine } from '@baton-lock/protocol/text/harmless'

/** An id for people: harmless, and cut in the middle where it is long, as both ends tell ids apart. */
export function cutId(id: string, chars = 64): string {
  const text = oneLine(id)
  const characters = [...text]
  if (characters.length <= chars) return text
  const head = Math.ceil((chars - 1) * 0.6)
  return `${characters.slice(0, head).join('')}…${characters.slice(head + 1 - chars).join('')}`
}
