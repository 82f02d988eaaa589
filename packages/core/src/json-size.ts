/** About how long a value is as JSON, without writing it: strings count by their characters, numbers as a time does. */
export function jsonSize(value: unknown): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value === 'number') return 13
  if (typeof value !== 'object' || value === null) return value === undefined ? 0 : 5
  let size = 2
  if (Array.isArray(value)) for (const each of value) size += jsonSize(each) + 1
  else for (const [name, each] of Object.entries(value)) size += name.length + 4 + jsonSize(each)
  return size
}
