const ASCII = /^[\x20-\x7e]*$/
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u
const NARROWEST = /[\p{Mn}\p{Me}\p{Cf}]/u

/** How many cells of a terminal a text takes. */
export function widthOf(text: string): number {
  if (ASCII.test(text)) return text.length
  let width = 0
  for (const character of text) width += cellsOf(character)
  return width
}

function cellsOf(character: string): number {
  if (WIDE.test(character)) return 2
  return NARROWEST.test(character) ? 0 : 1
}

/** As much of a text as has room, with a sign where something is missing. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  return width <= 0 ? '' : `${head(text, width - 1)}…`
}

/** The same for ids: what tells two of them apart is at their ends. */
export function cutMiddle(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  if (width < 8) return cut(text, width)
  const end = Math.floor((width - 1) / 3)
  return `${head(text, width - 1 - end)}…${tail(text, end)}`
}

/** Exactly so wide. */
export function pad(text: string, width: number): string {
  const fitting = cut(text, width)
  return fitting + ' '.repeat(Math.max(0, width - widthOf(fitting)))
}

/** The same, at the right: numbers. */
export function padLeft(text: string, width: number): string {
  const fitting = cut(text, width)
  return ' '.repeat(Math.max(0, width - widthOf(fitting))) + fitting
}

function head(text: string, width: number): string {
  let kept = ''
  let used = 0
  for (const character of text) {
    used += cellsOf(character)
    if (used > width) break
    kept += character
  }
  return kept
}

function tail(text: string, width: number): string {
  let kept = ''
  let used = 0
  for (const character of [...text].reverse()) {
    used += cellsOf(character)
    if (used > width) break
    kept = character + kept
  }
  return kept
}
