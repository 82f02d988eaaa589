/** `12,300/s`, `0.31 ms`, `850 bytes`. */
export function figureText(figure, unit) {
  const digits = Math.abs(figure) >= 100 ? 0 : Math.abs(figure) >= 1 ? 1 : 3
  const text = figure.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
  return unit.startsWith('/') ? `${text}${unit}` : `${text} ${unit}`
}
