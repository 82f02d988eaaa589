// A picture of a result: bars for each row, scaled to the longest of the row, or lines over time.
import { figureText } from './figure-text.mjs'

const WIDTH = 860
const NAME_X = 16
const BAR_X = 210
const BAR_WIDTH = 420
const BAR = 18
const COLOURS = ['#2563eb', '#94a3b8', '#cbd5e1', '#e2e8f0']

export function chartOf({ title, subtitle, rows, series = [] }) {
  const parts = []
  let y = 28
  const text = (x, words, attributes = '') =>
    parts.push(`<text x="${x}" y="${y}" ${attributes}>${escaped(words)}</text>`)
  text(NAME_X, title, 'font-weight="bold" font-size="15"')
  y += 18
  text(NAME_X, subtitle, 'fill="#64748b" font-size="11"')
  y += 14
  for (const row of rows) {
    y += 22
    if (row.kind === 'left out') {
      text(NAME_X, `${row.what}: left out, ${row.why}`, 'fill="#64748b"')
      continue
    }
    text(NAME_X, headOf(row), 'font-weight="bold"')
    y += 6
    const figures = Object.entries(row.figures)
    const longest = Math.max(...figures.map(([, figure]) => figure))
    for (const [place, [name, figure]] of figures.entries()) {
      const width = Math.max(1, (figure / longest) * BAR_WIDTH).toFixed(1)
      const colour = COLOURS[Math.min(place, COLOURS.length - 1)]
      parts.push(`<rect x="${BAR_X}" y="${y}" width="${width}" height="${BAR - 4}" fill="${colour}"/>`)
      y += BAR - 7
      text(NAME_X, name)
      text(BAR_X + Number(width) + 8, figureText(figure, row.unit))
      y += 7
    }
  }
  for (const each of series) {
    y += 26
    text(NAME_X, each.what, 'font-weight="bold"')
    parts.push(lineOf(each, y + 8))
    y += 178
    text(BAR_X, `0 to ${each.points.length * each.everySeconds} s; the top is ${figureText(topOf(each), each.unit)}`)
  }
  const height = y + 24
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}"`,
    '  font-family="system-ui, sans-serif" font-size="12" fill="#0f172a">',
    `<title>${escaped(title)}</title>`,
    `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`,
    ...parts,
    '</svg>',
    '',
  ].join('\n')
}

function headOf({ what, kind, value, spread }) {
  if (kind !== 'ratio') return what
  return `${what}: ratio ${value.toFixed(2)} (${spread.map((each) => each.toFixed(2)).join(' to ')})`
}

const topOf = ({ points }) => Math.max(...points) * 1.1

function lineOf(series, y) {
  const at = (point, index) => {
    const x = BAR_X + (index / Math.max(1, series.points.length - 1)) * BAR_WIDTH
    return `${x.toFixed(1)},${(y + 150 - (point / topOf(series)) * 150).toFixed(1)}`
  }
  const frame = `<rect x="${BAR_X}" y="${y}" width="${BAR_WIDTH}" height="150" fill="none" stroke="#cbd5e1"/>`
  return `${frame}\n<polyline points="${series.points.map(at).join(' ')}" fill="none" stroke="${COLOURS[0]}" stroke-width="1.5"/>`
}

const escaped = (words) => words.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
