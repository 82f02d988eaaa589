import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from 'node:http2'
import { connect as connectSocket } from 'node:net'
import { ContentError } from '../errors.ts'
import type { ContentStatus } from '../status.ts'
import { framed, MessageReader } from './framing.ts'
import { nodeService } from './proto.ts'
import { STATUS } from './status.ts'

const WITHIN_MS = 10_000

/** Asks the process that serves a node how it stands. */
export async function askStatus(socketPath: string): Promise<ContentStatus> {
  const session = connect('http://localhost', { createConnection: () => connectSocket(socketPath) })
  try {
    const { response } = nodeService.Status!
    const { json } = response.decode(await call(session, nodeService.Status!.path)) as { json: string }
    return JSON.parse(json)
  } catch (cause) {
    if (cause instanceof ContentError) throw cause
    throw new ContentError(
      'unavailable',
      `nobody answers on ${socketPath}; start it with \`baton content --config FILE\``,
      { cause },
    )
  } finally {
    session.destroy()
  }
}

/** One unary call whose request has no fields. */
async function call(session: ClientHttp2Session, path: string): Promise<Uint8Array> {
  // It ends the stream as well, and the reader reports that.
  session.once('error', () => {})
  const headers = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' }
  const stream = session.request(headers, { signal: AbortSignal.timeout(WITHIN_MS) })
  const received: IncomingHttpHeaders = {}
  // A failed call has its status in the first headers, and no trailers.
  stream.on('response', (headers) => Object.assign(received, headers))
  stream.on('trailers', (trailers) => Object.assign(received, trailers))
  stream.end(framed(Buffer.alloc(0)))
  const reader = new MessageReader(stream[Symbol.asyncIterator]())
  const reply = await reader.next()
  if (reply) await reader.next()
  if (reply && received['grpc-status'] === String(STATUS.ok)) return reply
  throw new ContentError('unavailable', decodeURIComponent(String(received['grpc-message'] ?? 'no answer')))
}
