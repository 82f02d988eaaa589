/** For people: `340ms`, `3.2s`, `12s`, `4m 10s`, `2h 5m`, `19d 4h`. */
export function formatDuration(ms: number): string {
  const wholeMs = Math.max(0, Math.round(ms))
  if (wholeMs < 1_000) return `${wholeMs}ms`
  if (wholeMs < 9_950) return `${(wholeMs / 1_000).toFixed(1)}s`
  const seconds = Math.round(wholeMs / 1_000)
  if (seconds < 60) return `${seconds}s`
  if (seconds < 3_600) return two(Math.floor(seconds / 60), 'm', seconds % 60, 's')
  const minutes = Math.round(seconds / 60)
  if (minutes < 24 * 60) return two(Math.floor(minutes / 60), 'h', minutes % 60, 'm')
  const hours = Math.round(minutes / 60)
  return two(Math.floor(hours / 24), 'd', hours % 24, 'h')
}

function two(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit} ${small}${smallUnit}`
}
