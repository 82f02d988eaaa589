import { createServer } from 'node:net'
import type { Method } from './call.ts'
import { Connection } from './connection.ts'

export interface GrpcServer {
  /** On a unix socket; nothing may be at that path. */
  listen(path: string): Promise<void>
  /** Ends all connections, and the calls on them. */
  close(): Promise<void>
}

/** A server of gRPC over HTTP/2, as far as containerd needs one: see docs/decisions/0012-grpc-server.md. */
export function createGrpcServer({ methods }: { methods: ReadonlyMap<string, Method> }): GrpcServer {
  const connections = new Set<Connection>()
  const server = createServer((socket) => {
    const connection = new Connection(socket, methods)
    connections.add(connection)
    socket.once('close', () => connections.delete(connection))
  })
  return {
    listen: (path) =>
      new Promise((resolve, reject) => {
        server.once('error', reject)
        server.listen(path, () => {
          server.removeListener('error', reject)
          // From now on it is a connection that could not be accepted, and its client tries again.
          server.on('error', () => {})
          resolve()
        })
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const connection of connections) connection.close()
      }),
  }
}
