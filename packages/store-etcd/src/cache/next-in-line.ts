import type { Opening, Wanted } from '@baton-lock/store/remote'
import { pathOf } from '../keys.ts'
import { waitersIn } from '../transaction/document.ts'
import type { Reads } from '../transaction/reads.ts'
import type { Known } from './recollection.ts'

/** Of so few, all are read. */
const FEW = 8
/** Of a long queue so many are read, where fewer than a few are known. */
const NEXT = 32

/** Reads those who are next in line along: then it is a copy for all that comes next, the claim of a waiter and its release. */
export function addNextInLine(reads: Reads, { copies, index, keys }: Known, { address, parts }: Opening): void {
  const head = index.of(address)?.head
  if (!head) return
  if (waitersIn(head) < FEW) {
    reads.add({ ...keys.waiters(address), limit: FEW })
    return
  }
  const copy = copies.of(pathOf(address))
  for (const operation of operationsIn(parts)) {
    const queue = keys.queue(address, operation)
    if (head.queues[operation] && !copy?.find({ ...queue, limit: FEW })) reads.add({ ...queue, limit: NEXT })
  }
}

/** Those whose queues the next step may be about. */
function operationsIn(parts: readonly Wanted[]): ReadonlySet<string> {
  return new Set(
    parts.flatMap((part) => {
      if (part.what === 'owners') return part.owners.map(({ operation }) => operation)
      return part.what === 'first' ? [part.operation] : []
    }),
  )
}
