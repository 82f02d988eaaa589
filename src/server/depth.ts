/** Deeper JSON than this is refused before anything recursive meets it. */
export const DEPTH_MAX = 64

export function isTooDeep(root: unknown): boolean {
  if (isFlat(root)) return false
  let level: unknown[] = [root]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > DEPTH_MAX) return true
    level = level.flatMap((value) => (typeof value === 'object' && value !== null ? Object.values(value) : []))
  }
  return false
}

/** An object of plain values, or not even that, as most are: there is nothing in it that could do harm. */
export function isFlat(root: unknown): boolean {
  if (typeof root !== 'object' || root === null) return true
  for (const name in root) {
    if (typeof (root as Record<string, unknown>)[name] === 'object' || name === '__proto__') return false
  }
  return true
}
