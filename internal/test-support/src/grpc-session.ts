import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type OutgoingHttpHeaders,
  type SessionOptions,
} from 'node:http2'
import { connect as connectSocket } from 'node:net'
import { onTestFinished } from 'vitest'
import { message as framed } from './grpc-frames.ts'

export type Headers = OutgoingHttpHeaders

/** A session of Node's client. Ends with the test. */
export async function session(path: string, options: SessionOptions = {}): Promise<ClientHttp2Session> {
  const client = connect('http://localhost', { createConnection: () => connectSocket(path), ...options })
  onTestFinished(() => client.destroy())
  await new Promise((resolve) => client.once('remoteSettings', resolve))
  return client
}

export function started(client: ClientHttp2Session, path: string, headers: Headers = {}): ClientHttp2Stream {
  const usual = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' }
  return client.request({ ...usual, ...headers }, { endStream: false })
}

export const message = (text: string | Buffer): Buffer => framed(Buffer.from(text))

/** What comes on a stream: its headers, its messages, each with its prefix, and its trailers. */
export async function answerOf(stream: ClientHttp2Stream): Promise<{ head: Headers; body: Buffer; trailers: Headers }> {
  let head: Headers = {}
  let trailers: Headers = {}
  const parts: Buffer[] = []
  stream.on('response', (headers) => {
    head = headers
  })
  stream.on('trailers', (headers) => {
    trailers = headers
  })
  for await (const part of stream) parts.push(part as Buffer)
  return { head, body: Buffer.concat(parts), trailers }
}

/** Sends one request on a session of its own. */
export async function requested(path: string, headers: Headers, body: Buffer = Buffer.alloc(0)) {
  const stream = started(await session(path), String(headers[':path']), headers)
  stream.end(body)
  return answerOf(stream)
}
