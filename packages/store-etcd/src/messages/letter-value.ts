import type { Delta } from '../cache/copies.ts'

/** A letter as it is stored: its text, which has no line breaks, and perhaps how the resource has changed. */
export function letterValue(text: string, delta: Delta): string {
  return `${text}\n${JSON.stringify(delta)}`
}

export function letterIn(value: string): { readonly text: string; readonly delta: Delta | undefined } {
  const end = value.indexOf('\n')
  return end < 0
    ? { text: value, delta: undefined }
    : { text: value.slice(0, end), delta: JSON.parse(value.slice(end + 1)) }
}
