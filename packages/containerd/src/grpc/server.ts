import { createServer, type IncomingHttpHeaders, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import type { ClientClock } from '@baton-lock/client/internal'
import { Call, type Method } from './call.ts'
import { CallError, STATUS } from './status.ts'

const MIB = 1024 * 1024

/** containerd has one connection, and each `baton content status` another. Room is left for dead ones, see PING_MS. */
const CONNECTIONS_MAX = 256

/**
 * How often a connection is pinged; one that has missed two pings is closed. Node 20, and 22
 * in its first versions, needs that: it keeps a connection on which it has sent GOAWAY by itself, even after its client is gone.
 */
const PING_MS = 5_000
const PINGS_MISSED_MAX = 2

/** Each pull that waits for its turn keeps a stream open, so this is far more than the pulls of one machine. */
const STREAMS_MAX = 1_000

/** What a client may send on a stream that is not read: one message of containerd, and the next. */
const STREAM_WINDOW_BYTES = 2 * MIB

/** All streams of a connection together. Node replenishes it as data arrives, so a stream that is not read blocks no other. */
const CONNECTION_WINDOW_BYTES = 16 * MIB

/** Of the headers of a call, as Node counts them; it resets a stream that has more. */
const HEADERS_MAX_BYTES = 64 * 1024

/** What may wait to be sent on a connection, in MB: one message of 64 KiB for each stream. Beyond it new streams are refused. */
const SESSION_MEMORY_MB = 64

/**
 * How many streams a client may reset, at once and per second, before it is sent away. containerd reads 32 KiB per call and
 * resets many of these calls, because it has its bytes before the trailers arrive. This is more than the server can answer.
 * Node 20 lacks the options: there a client is sent away after 1,000 resets, or 33 per second, and containerd goes on with a
 * new connection.
 */
const RESETS = { streamResetBurst: 10_000, streamResetRate: 10_000 }

/** How long clients have to take the last status of their calls when the server stops. */
const CLOSE_MS = 500

interface GrpcServerOptions {
  /** By the path of the method. */
  readonly methods: ReadonlyMap<string, Method>
  /** For deadlines and pings. */
  readonly clock: ClientClock
}

export interface GrpcServer {
  /** On a unix socket; nothing may be at that path. */
  listen(path: string): Promise<void>
  /** Calls that are open fail as UNAVAILABLE. */
  close(): Promise<void>
}

/** gRPC over HTTP/2 without TLS. Malformed HTTP/2 and floods of frames are refused by Node. */
export function createGrpcServer({ methods, clock }: GrpcServerOptions): GrpcServer {
  const sockets = new Set<Socket>()
  const sessions = new Set<ServerHttp2Session>()
  const calls = new Set<Call>()
  const server = createServer({
    settings: {
      maxConcurrentStreams: STREAMS_MAX,
      initialWindowSize: STREAM_WINDOW_BYTES,
      maxHeaderListSize: HEADERS_MAX_BYTES,
      enablePush: false,
    },
    maxSessionMemory: SESSION_MEMORY_MB,
    ...RESETS,
  })
  server.maxConnections = CONNECTIONS_MAX
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.on('session', (session) => {
    sessions.add(session)
    const stopPings = keepPinging(session, clock)
    session.once('close', () => {
      sessions.delete(session)
      stopPings()
    })
    session.setLocalWindowSize(CONNECTION_WINDOW_BYTES)
  })
  server.on('stream', (stream, headers) => {
    // The call learns of it by 'aborted'.
    stream.on('error', () => {})
    if (!stream.closed && isGrpc(stream, headers)) void serve(stream, headers)
  })

  async function serve(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> {
    const path = String(headers[':path'])
    const timeout = headers['grpc-timeout']
    const call = new Call(stream)
    calls.add(call)
    const stopTimer =
      timeout !== undefined &&
      clock.after(timeoutMs(String(timeout)), () => {
        call.cancel(new CallError(STATUS.deadlineExceeded, 'the deadline of the client has passed'))
      })
    await call.answer(methods.get(path) ?? (() => Promise.reject(unknownMethod(path))))
    if (stopTimer) stopTimer()
    calls.delete(call)
  }

  return {
    listen: (path) =>
      new Promise((resolve, reject) => {
        server.once('error', reject)
        server.listen(path, () => {
          server.off('error', reject)
          // From now on an error is a connection that could not be accepted; its client tries again.
          server.on('error', () => {})
          resolve()
        })
      }),
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const call of calls) call.cancel(new CallError(STATUS.unavailable, 'the content store is stopping'))
      for (const session of sessions) session.close()
      const stopTimer = clock.after(CLOSE_MS, () => {
        for (const socket of sockets) socket.destroy()
      })
      await closed
      stopTimer()
    },
  }
}

/** Closes the connection when the client does not answer. Returns how to stop. */
function keepPinging(session: ServerHttp2Session, clock: ClientClock): () => void {
  let missed = 0
  const check = () => {
    // It may be destroyed some time before it is closed.
    if (missed === PINGS_MISSED_MAX || session.destroyed) return session.destroy()
    missed++
    session.ping(() => {
      missed = 0
    })
    stop = clock.after(PING_MS, check)
  }
  let stop = clock.after(PING_MS, check)
  return () => stop()
}

/** Refuses with a status of HTTP what is no call of gRPC. */
function isGrpc(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): boolean {
  const isPost = headers[':method'] === 'POST'
  if (isPost && /^application\/grpc($|[+;])/.test(headers['content-type'] ?? '')) return true
  stream.respond({ ':status': isPost ? 415 : 405 }, { endStream: true })
  return false
}

const UNIT_MS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 }

/** Up to eight digits and a unit. A deadline that cannot be read has passed. */
function timeoutMs(timeout: string): number {
  const [, digits, unit = ''] = /^(\d{1,8})([HMSmun])$/.exec(timeout) ?? []
  return digits === undefined ? 0 : Number(digits) * UNIT_MS[unit]!
}

function unknownMethod(path: string): CallError {
  return new CallError(STATUS.unimplemented, `there is no method ${path}`)
}
