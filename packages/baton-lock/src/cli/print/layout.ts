import { oneLine } from '@baton-lock/protocol'

/** Rows with their columns aligned, harmless; trailing blanks are cut. Cells must be unpainted: colours have no width. */
export function columns(texts: readonly (readonly string[])[], gap = '  '): string[] {
  const rows = texts.map((row) => row.map(oneLine))
  const widths: number[] = []
  for (const row of rows) for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length)
  return rows.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join(gap)
      .trimEnd(),
  )
}

const ASCII = /^[\x20-\x7e]*$/
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u
const ZERO_WIDTH = /[\p{Mn}\p{Me}\p{Cf}]/u

/** How many cells of a terminal a text takes. */
export function widthOf(text: string): number {
  if (ASCII.test(text)) return text.length
  return [...text].reduce((width, character) => width + cellsOf(character), 0)
}

function cellsOf(character: string): number {
  if (WIDE.test(character)) return 2
  return ZERO_WIDTH.test(character) ? 0 : 1
}

/** The beginning of a text that is too wide, with an ellipsis. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  return width <= 0 ? '' : `${head([...text], width - 1).join('')}…`
}

/** The same for ids, whose ends tell them apart: the ellipsis is in the middle. */
export function cutMiddle(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  if (width < 8) return cut(text, width)
  const end = Math.floor((width - 1) / 3)
  const characters = [...text]
  const tail = head(characters.toReversed(), end).reverse()
  return `${head(characters, width - 1 - end).join('')}…${tail.join('')}`
}

/** Exactly so wide. */
export function pad(text: string, width: number): string {
  const fitting = cut(text, width)
  return fitting + ' '.repeat(Math.max(0, width - widthOf(fitting)))
}

/** Exactly so wide, aligned to the right. */
export function padLeft(text: string, width: number): string {
  const fitting = cut(text, width)
  return ' '.repeat(Math.max(0, width - widthOf(fitting))) + fitting
}

function head(characters: readonly string[], width: number): string[] {
  let used = 0
  const end = characters.findIndex((character) => {
    used += cellsOf(character)
    return used > width
  })
  return characters.slice(0, end < 0 ? undefined : end)
}
