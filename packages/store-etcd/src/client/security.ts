import { readFileSync } from 'node:fs'
import { connect, isIP, type Socket } from 'node:net'
import { type ConnectionOptions, checkServerIdentity, connect as connectByTls } from 'node:tls'
import { type ChannelCredentials, type ClientOptions, credentials, type VerifyOptions } from '@grpc/grpc-js'
import type { EtcdTarget } from '../etcd-url.ts'

interface Security {
  readonly credentials: ChannelCredentials
  readonly options: ClientOptions
}

/** How to speak to an endpoint: in plain, or by TLS with what is in the files now. Throws where they do not do. */
export function securityOf(endpoint: string, target: EtcdTarget): Security {
  if (!target.tls) return { credentials: credentials.createInsecure(), options: {} }
  const { ca, key, cert, checkServerIdentity: check, servername } = tlsOptionsOf(endpoint, target)
  const verify: VerifyOptions = check ? { checkServerIdentity: check } : {}
  return {
    credentials: credentials.createSsl(ca ?? null, key ?? null, cert ?? null, verify),
    options: servername === undefined ? {} : { 'grpc.ssl_target_name_override': servername },
  }
}

/** A socket to it, for HTTP/2. */
export function socketTo(endpoint: string, target: EtcdTarget): Socket {
  const place = placeOf(endpoint)
  if (!target.tls) return connect({ ...place, noDelay: true })
  return connectByTls({ ...place, ALPNProtocols: ['h2'], ...tlsOptionsOf(endpoint, target) }).setNoDelay(true)
}

export function placeOf(endpoint: string): { readonly host: string; readonly port: number } {
  const [, host = '', port] = /^\[?(.*?)\]?:(\d+)$/.exec(endpoint)!
  return { host, port: Number(port) }
}

export function tlsOptionsOf(endpoint: string, { tls = {} }: EtcdTarget): TlsOptions {
  const files: TlsOptions = {}
  for (const name of ['ca', 'key', 'cert'] as const) if (tls[name] !== undefined) files[name] = readFileSync(tls[name])
  const { host } = placeOf(endpoint)
  if (isIP(host) === 0) return files
  // No address may be asked for as a name (RFC 6066; Node warns of it): some name is, and the certificate is checked for the address.
  return {
    ...files,
    servername: 'etcd',
    checkServerIdentity: (_name, certificate) => checkServerIdentity(host, certificate),
  }
}

interface TlsOptions extends Pick<ConnectionOptions, 'servername' | 'checkServerIdentity'> {
  ca?: Buffer
  key?: Buffer
  cert?: Buffer
}
