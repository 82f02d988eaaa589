import type { Operation } from '../etcd.ts'

/** So many fit into one transaction with few comparisons: see `client/nesting.ts`. */
const OPERATIONS = 2_900
/** etcd takes 1.5 MiB a request, comparisons and all. */
const BYTES = 1_100_000
/** What an operation costs beside its key and value. */
const OVERHEAD = 24

/** A character takes so many bytes at most. */
const CHARACTER_BYTES = 3

/** Whether they fit into one transaction. */
export function isSmall(operations: readonly Operation[]): boolean {
  if (operations.length > OPERATIONS) return false
  // Most often that is seen without counting bytes.
  return sumOf(operations, mostBytes) <= BYTES || sumOf(operations, textBytes) <= BYTES
}

/** Parts of them that each fit into one transaction. */
export function smallParts(operations: readonly Operation[]): Operation[][] {
  const parts: Operation[][] = [[]]
  let bytes = 0
  for (const operation of operations) {
    const size = sizeOf(operation, textBytes)
    if (parts.at(-1)!.length >= OPERATIONS || (bytes > 0 && bytes + size > BYTES)) {
      parts.push([])
      bytes = 0
    }
    parts.at(-1)!.push(operation)
    bytes += size
  }
  return parts
}

type BytesOf = (text: string) => number

function sumOf(operations: readonly Operation[], bytesOf: BytesOf): number {
  let bytes = 0
  for (const operation of operations) bytes += sizeOf(operation, bytesOf)
  return bytes
}

function sizeOf(operation: Operation, bytesOf: BytesOf): number {
  if ('put' in operation) return bytesOf(operation.put.key) + bytesOf(operation.put.value) + OVERHEAD
  if ('delete' in operation) return bytesOf(operation.delete.key) + bytesOf(operation.delete.end ?? '') + OVERHEAD
  return OVERHEAD
}

function textBytes(text: string): number {
  return Buffer.byteLength(text)
}

function mostBytes(text: string): number {
  return CHARACTER_BYTES * text.length
}
