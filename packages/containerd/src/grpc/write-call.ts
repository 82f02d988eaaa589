import type { ContentStore } from '../blobs/content-store.ts'
import { ContentError } from '../errors.ts'
import type { Writer } from '../ingests/writer.ts'
import type { Call } from './call.ts'
import { statusOfError } from './errors.ts'
import { ACTION, timestampOf, type WriteRequest, type WriteResponse } from './messages.ts'
import { contentService } from './proto.ts'

/**
 * One stream is one writer. The first STAT comes inside of containerd's transaction and is answered at once; the second one
 * comes before the GET: there it waits for its turn, and nowhere else.
 */
export async function writeCall(store: ContentStore, call: Call, log: (sentence: string) => void): Promise<void> {
  const { request, response } = contentService.Write!
  let writer: Writer | undefined
  call.signal.addEventListener('abort', () => void writer?.close(call.signal.reason.message))
  try {
    for await (const bytes of call.messages()) {
      const message = request.decode(bytes) as unknown as WriteRequest
      const isFirst = writer === undefined
      writer ??= await opened(store, message)
      call.signal.throwIfAborted()
      await call.send(response.encode(await answer(writer, message, isFirst)))
      if (message.action === ACTION.commit) break
    }
    await writer?.close('the stream ended')
  } catch (error) {
    await writer?.close((error as Error).message)
    if (!call.signal.aborted) log(`${writer?.ref ?? 'a write'} failed: ${statusOfError(error).message}`)
    throw error
  }
}

async function opened(store: ContentStore, { ref, total, expected }: WriteRequest): Promise<Writer> {
  if (ref === '') throw new ContentError('bad-request', 'the first message of a write names its ref')
  return store.openWriter({ ref, total, expected })
}

async function answer(writer: Writer, request: WriteRequest, isFirst: boolean): Promise<WriteResponse> {
  switch (request.action) {
    case ACTION.stat:
      if (!isFirst) await writer.ready()
      return responseOf(writer, request.action)
    case ACTION.write:
      if (request.data.byteLength > 0) await writer.write(request.offset, request.data)
      return responseOf(writer, request.action)
    case ACTION.commit: {
      if (request.data.byteLength > 0) await writer.write(request.offset, request.data)
      const { offset } = writer
      const digest = await writer.commit(request)
      return { ...responseOf(writer, request.action), offset, digest }
    }
    default:
      throw new ContentError('bad-request', `a write has no action ${request.action}`)
  }
}

function responseOf(writer: Writer, action: number): WriteResponse {
  return {
    action,
    startedAt: timestampOf(writer.startedAtMs),
    updatedAt: timestampOf(writer.updatedAtMs),
    offset: writer.offset,
    total: writer.total,
    digest: '',
  }
}
