import { UsageError } from './exit.ts'

/** `16384`, or `64KiB`. */
export function parseBytes(text: string, { max }: { readonly max: number }): number {
  const [, amount, unit] = /^(\d{1,9})(KiB)?$/.exec(text) ?? []
  if (amount === undefined) throw new UsageError(`'${text}' is not a size; write it like 16384 or 64KiB`)
  const bytes = Number(amount) * (unit === undefined ? 1 : 1024)
  if (bytes < 1 || bytes > max)
    throw new UsageError(`'${text}' is out of range; use 1 to ${max} bytes (${max / 1024}KiB)`)
  return bytes
}
