import { randomInt } from 'node:crypto'

/** A lease is named by whoever makes it: a number that JavaScript knows exactly, and that nobody else has. */
export function leaseId(): number {
  return randomInt(1, 2 ** 48 - 1)
}
