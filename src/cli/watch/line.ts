import type { Colour, Paint } from '../print/paint.ts'
import { cut, widthOf } from './text-width.ts'

/** A part of a line, with its colour. Colours have no width, so they come when everything has its place. */
export interface Span {
  readonly text: string
  readonly colour?: Colour | undefined
}

export type Line = readonly Span[]

export function line(text: string, colour?: Colour): Line {
  return [{ text, colour }]
}

/** Nothing of it goes beyond the width: a line that wraps would move all others. */
export function painted(spans: Line, width: number, paint: Paint): string {
  let left = width
  let text = ''
  for (const span of spans) {
    const fitting = cut(span.text, left)
    left -= widthOf(fitting)
    text += span.colour === undefined || fitting === '' ? fitting : paint(span.colour, fitting)
  }
  return text.trimEnd()
}
