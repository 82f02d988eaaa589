import type { ContentStore } from '../blobs/content-store.ts'
import type { Use } from '../blobs/uses.ts'
import { ContentError } from '../errors.ts'
import { statusOf } from '../status.ts'
import type { Call, Method } from './call.ts'
import { timestampOf } from './messages.ts'
import { contentService, nodeService, type Rpc } from './proto.ts'
import { readCall } from './read-call.ts'
import { writeCall } from './write-call.ts'

const LISTED_AT_ONCE = 100

/**
 * The content service of one node, as containerd calls it. It shows what this node has, and nothing of what only others have:
 * containerd deletes whatever it is shown and does not know.
 */
export function methodsOf(store: ContentStore, log: (sentence: string) => void): ReadonlyMap<string, Method> {
  const { Info, Update, List, Delete, Read, Status, ListStatuses, Write, Abort } = contentService as Record<string, Rpc>
  return new Map<string, Method>([
    unary<{ digest: string }>(Info!, ({ digest }) => {
      const use = store.info(digest)
      if (!use) throw new ContentError('not-found', `${digest} is not on this node`)
      return { info: infoOf(digest, use) }
    }),
    unary(Update!, () => {
      throw new ContentError('bad-request', 'labels are kept by containerd, not by this store')
    }),
    [List!.path, (call) => listCall(store, call)],
    unary<{ digest: string }>(Delete!, async ({ digest }) => {
      await store.delete(digest)
      return {}
    }),
    [Read!.path, (call) => readCall(store, call)],
    unary<{ ref: string }>(Status!, ({ ref }) => ({ status: ingestStatus(store, ref) })),
    unary(ListStatuses!, () => ({ statuses: Array.from(store.ingests.all(), ({ ref }) => ingestStatus(store, ref)) })),
    [Write!.path, (call) => writeCall(store, call, log)],
    unary<{ ref: string }>(Abort!, async ({ ref }) => {
      await store.abort(ref)
      return {}
    }),
    unary(nodeService.Status!, async () => ({ json: JSON.stringify(await statusOf(store)) })),
  ])
}

function unary<Request>(
  { path, request, response }: Rpc,
  answer: (request: Request) => object | Promise<object>,
): [path: string, method: Method] {
  const method = async (call: Call) => {
    const message = request.decode(await call.request()) as Request
    await call.send(response.encode(await answer(message)))
  }
  return [path, method]
}

async function listCall(store: ContentStore, call: Call): Promise<void> {
  await call.request()
  const all = Array.from(store.uses.all(), ([digest, use]) => infoOf(digest, use))
  const { encode } = contentService.List!.response
  for (let at = 0; at < all.length; at += LISTED_AT_ONCE) {
    await call.send(encode({ info: all.slice(at, at + LISTED_AT_ONCE) }))
  }
}

function infoOf(digest: string, { size, atMs }: Use) {
  const at = timestampOf(atMs)
  return { digest, size, createdAt: at, updatedAt: at, labels: {} }
}

/** While it waits for its turn it has no bytes: what stands still at anything else is given up by containerd. */
function ingestStatus(store: ContentStore, ref: string) {
  const ingest = store.ingests.get(ref)
  if (!ingest) throw new ContentError('not-found', `there is no ingest ${ref}`)
  const writer = store.writerOf(ref)
  const isWaiting = writer?.stage === 'opened' || writer?.stage === 'waiting'
  return {
    ref,
    startedAt: timestampOf(ingest.startedAtMs),
    updatedAt: timestampOf(ingest.updatedAtMs),
    offset: isWaiting ? 0 : (writer ?? ingest).offset,
    total: ingest.total,
    expected: writer?.digest ?? '',
  }
}
