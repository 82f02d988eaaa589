import type { SingleCall } from '../../grpc/index.ts'
import type { ContentStore } from '../content-store.ts'
import { ContentError } from '../errors.ts'
import { statusOfError } from './errors.ts'
import type { ReadRequest } from './messages.ts'
import { contentService } from './proto.ts'

/** containerd unpacks by thousands of small reads, each a call of its own: what is at hand is answered in the same turn. */
export function readCall(store: ContentStore, call: SingleCall): void | Promise<void> {
  const request = contentService.Read!.request.decode(call.request) as unknown as ReadRequest
  const { digest, offset, size } = request
  const data = size > 0 && store.info(digest) ? store.readers.peek(digest, offset, size) : undefined
  if (data?.byteLength !== size || size === 0) return readAll(store, call, request)
  send(call, offset, data)
  call.end()
}

async function readAll(
  store: ContentStore,
  call: SingleCall,
  { digest, offset: start, size }: ReadRequest,
): Promise<void> {
  try {
    if (start < 0) throw new ContentError('out-of-range', `a read begins at 0 or after it, not at ${start}`)
    const end = size > 0 ? start + size : Number.POSITIVE_INFINITY
    let offset = start
    while (offset < end && !call.isCancelled) {
      const data = await store.readers.read(digest, offset, end - offset)
      if (data.byteLength === 0) break
      if (!send(call, offset, data)) await call.drained()
      offset += data.byteLength
    }
    call.end()
  } catch (error) {
    call.fail(statusOfError(error))
  }
}

/** `{ int64 offset = 1; bytes data = 2 }`, with the data as it is: not copied into a message. */
function send(call: SingleCall, offset: number, data: Uint8Array): boolean {
  return call.send(headOf(offset, data.byteLength), data)
}

function headOf(offset: number, length: number): Uint8Array {
  const head = Buffer.allocUnsafe(22)
  let at = 0
  if (offset > 0) {
    head[at++] = (1 << 3) | 0
    at = varint(head, at, offset)
  }
  head[at++] = (2 << 3) | 2
  return head.subarray(0, varint(head, at, length))
}

/** Numbers below 2^53: shifting would cut them at 32 bits. */
function varint(into: Uint8Array, at: number, value: number): number {
  let left = value
  let next = at
  while (left >= 0x80) {
    into[next++] = (left % 0x80) + 0x80
    left = Math.floor(left / 0x80)
  }
  into[next++] = left
  return next
}
