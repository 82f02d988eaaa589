import type { Found, Outcome } from '../etcd.ts'

/** What a read has found. */
export function foundIn(outcome: Outcome): Found {
  if (!outcome || !('range' in outcome)) throw new TypeError('this was no read')
  return outcome.range
}
