import { oneLine } from '../../protocol/index.ts'

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
