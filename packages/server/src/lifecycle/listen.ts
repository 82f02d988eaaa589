import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { App } from '../app.ts'

/** Where to listen. */
interface ListenOptions {
  /** Default: 127.0.0.1. */
  readonly host?: string
  /** 0 picks a free one. Default: 8086. */
  readonly port?: number
}

/** Listens, and resolves with the URL. */
export async function listen(
  { server }: App,
  { host = '127.0.0.1', port = 8086 }: ListenOptions = {},
): Promise<string> {
  server.listen({ host, port, backlog: 4_096 })
  await once(server, 'listening')
  const { port: bound } = server.address() as AddressInfo
  const scheme = 'setSecureContext' in server ? 'https' : 'http'
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${bound}`
}
