import { type ClientHttp2Session, connect } from 'node:http2'
import { connect as connectSocket } from 'node:net'
import { STATUS } from '../../grpc/index.ts'
import { ContentError } from '../errors.ts'
import type { ContentStatus } from '../status.ts'
import { nodeService } from './proto.ts'

const WITHIN_MS = 10_000
/** Of a gRPC message, before its bytes: whether it is compressed, and its length. */
const PREFIX = 5

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
function call(session: ClientHttp2Session, path: string): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    session.once('error', reject)
    const headers = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' }
    const stream = session.request(headers, { signal: AbortSignal.timeout(WITHIN_MS) })
    const chunks: Buffer[] = []
    let status: number = STATUS.unknown
    let message = ''
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    for (const event of ['response', 'trailers'] as const) {
      stream.on(event, (headers: Record<string, unknown>) => {
        if (headers['grpc-status'] === undefined) return
        status = Number(headers['grpc-status'])
        message = decodeURIComponent(String(headers['grpc-message'] ?? ''))
      })
    }
    stream.once('error', reject)
    stream.once('end', () => {
      if (status === STATUS.ok) resolve(Buffer.concat(chunks).subarray(PREFIX))
      else reject(new ContentError('unavailable', message))
    })
    stream.end(Buffer.alloc(PREFIX))
  })
}
