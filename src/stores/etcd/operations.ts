import type { Operation } from './etcd.ts'

/** So many fit into one transaction with few comparisons: see `client/nesting.ts`. */
const OPERATIONS = 2_900
/** etcd takes 1.5 MiB a request, comparisons and all. */
const BYTES = 1_100_000
/** What an operation costs beside its key and value. */
const OVERHEAD = 24

/** Whether they fit into one transaction. */
export function isSmall(operations: readonly Operation[]): boolean {
  return operations.length <= OPERATIONS && bytesOf(operations) <= BYTES
}

/** Parts of them that each fit into one transaction. */
export function smallParts(operations: readonly Operation[]): Operation[][] {
  const parts: Operation[][] = [[]]
  let bytes = 0
  for (const operation of operations) {
    const size = sizeOf(operation)
    if (parts.at(-1)!.length >= OPERATIONS || (bytes > 0 && bytes + size > BYTES)) {
      parts.push([])
      bytes = 0
    }
    parts.at(-1)!.push(operation)
    bytes += size
  }
  return parts
}

function bytesOf(operations: readonly Operation[]): number {
  let bytes = 0
  for (const operation of operations) bytes += sizeOf(operation)
  return bytes
}

function sizeOf(operation: Operation): number {
  if ('put' in operation) return textBytes(operation.put.key) + textBytes(operation.put.value) + OVERHEAD
  if ('delete' in operation) return textBytes(operation.delete.key) + textBytes(operation.delete.end ?? '') + OVERHEAD
  return OVERHEAD
}

function textBytes(text: string): number {
  return Buffer.byteLength(text)
}
