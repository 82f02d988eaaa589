import type { ContentStore } from '../blobs/content-store.ts'
import { ContentError } from '../errors.ts'
import type { Call } from './call.ts'
import type { ReadRequest } from './messages.ts'
import { contentService } from './proto.ts'

/** containerd asks for 32 KiB in a call. A client that asks for more gets several messages, see SESSION_MEMORY_MB. */
const MESSAGE_BYTES = 64 * 1024

/** Sends a part of a blob; a size of 0 means up to its end. */
export async function readCall(store: ContentStore, call: Call): Promise<void> {
  const { request, response } = contentService.Read!
  const { digest, offset: start, size } = request.decode(await call.request()) as unknown as ReadRequest
  if (start < 0) throw new ContentError('out-of-range', `a read begins at 0 or after it, not at ${start}`)
  const end = size > 0 ? start + size : Number.POSITIVE_INFINITY
  let offset = start
  while (offset < end) {
    const data = await store.readers.read(digest, offset, Math.min(end - offset, MESSAGE_BYTES))
    if (data.byteLength === 0) break
    await call.send(response.encode({ offset, data }))
    offset += data.byteLength
  }
}
