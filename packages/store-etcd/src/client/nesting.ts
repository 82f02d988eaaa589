import type { Operation, Outcome, Txn, TxnResult } from '../etcd.ts'

/** etcd takes 128 comparisons or operations in a transaction; those within it may have as many as that leaves over. */
const LIMIT = 128
const WIDTH = 64

/**
 * The same transaction as etcd takes it: operations that are too many for it are put into transactions within it. Reads that
 * need that are written to the log of the quorum, as a change would be.
 */
export function nested(txn: Txn): Txn {
  const { compare, success, failure = [] } = txn
  if (Math.max(compare.length, success.length, failure.length) <= LIMIT) return txn
  const width = Math.max(WIDTH, compare.length)
  const group = Math.max(1, LIMIT - width)
  const grouped = (operations: readonly Operation[]) => {
    return operations.length <= width ? operations : groups(operations, group)
  }
  return { compare, success: grouped(success), failure: grouped(failure) }
}

/** What came of the operations of a transaction that was nested, in their own order. */
export function flat(result: TxnResult): TxnResult {
  const outcomes = result.outcomes.flatMap((outcome): readonly Outcome[] => {
    return outcome && 'txn' in outcome ? outcome.txn.outcomes : [outcome]
  })
  return { ...result, outcomes }
}

function groups(operations: readonly Operation[], size: number): Operation[] {
  return Array.from({ length: Math.ceil(operations.length / size) }, (_, at) => {
    return { txn: { compare: [], success: operations.slice(at * size, (at + 1) * size) } }
  })
}
