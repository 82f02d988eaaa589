import { readFileSync } from 'node:fs'
import { UsageError } from './exit.ts'

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const PART = /(\d+(?:\.\d+)?)(ms|s|m|h|d)/g
const WHOLE = /^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/

interface DurationLimits {
  readonly minMs?: number
  readonly maxMs?: number
}

/** `500ms`, `2s`, `10m`, `1h`, `7d`, and sums of them such as `1h30m`; a bare `0` needs no unit. */
export function parseDuration(
  text: string,
  { minMs = 0, maxMs = Number.MAX_SAFE_INTEGER }: DurationLimits = {},
): number {
  if (text !== '0' && !WHOLE.test(text)) {
    throw new UsageError(`'${text}' is not a duration; write it like 500ms, 2s, 10m, 1h or 7d`)
  }
  let totalMs = 0
  for (const [, amount, unit] of text.matchAll(PART)) totalMs += Number(amount) * UNIT_MS[unit as keyof typeof UNIT_MS]
  totalMs = Math.round(totalMs)
  if (totalMs < minMs || totalMs > maxMs) {
    throw new UsageError(`'${text}' is out of range; use ${exactDuration(minMs)} to ${exactDuration(maxMs)}`)
  }
  return totalMs
}

/** As `parseDuration` takes it, in one unit: `90s`, `1h`, `365d`. A single day is written `24h`. */
export function exactDuration(ms: number): string {
  if (ms > UNIT_MS.d && ms % UNIT_MS.d === 0) return `${ms / UNIT_MS.d}d`
  for (const unit of ['h', 'm', 's'] as const)
    if (ms > 0 && ms % UNIT_MS[unit] === 0) return `${ms / UNIT_MS[unit]}${unit}`
  return `${ms}ms`
}

/** `16384`, or `64KiB`. */
export function parseBytes(text: string, { max }: { readonly max: number }): number {
  const [, amount, unit] = /^(\d{1,9})(KiB)?$/.exec(text) ?? []
  if (amount === undefined) throw new UsageError(`'${text}' is not a size; write it like 16384 or 64KiB`)
  const bytes = Number(amount) * (unit === undefined ? 1 : 1024)
  if (bytes < 1 || bytes > max)
    throw new UsageError(`'${text}' is out of range; use 1 to ${max} bytes (${max / 1024}KiB)`)
  return bytes
}

/** The text of a file that the user has named. */
export function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    const why = (cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'there is no such file' : (cause as Error).message
    throw new UsageError(`cannot read ${path}: ${why}; check the path`, { cause })
  }
}
