import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** Where to listen. */
export interface ListenOptions {
  /** Default: 127.0.0.1. */
  readonly host?: string
  /** 0 picks a free one. Default: 8086. */
  readonly port?: number
}

/** Listens, and says at which URL. */
export async function listen(
  app: FastifyInstance,
  { host = '127.0.0.1', port = 8086 }: ListenOptions = {},
): Promise<string> {
  await app.listen({ host, port, backlog: 4_096 })
  const { port: bound } = app.server.address() as AddressInfo
  const scheme = 'setSecureContext' in app.server ? 'https' : 'http'
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${bound}`
}
