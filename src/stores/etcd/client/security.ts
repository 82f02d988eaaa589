import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { checkServerIdentity } from 'node:tls'
import { type ChannelCredentials, type ClientOptions, credentials, type VerifyOptions } from '@grpc/grpc-js'
import type { EtcdTarget } from '../etcd-url.ts'

interface Security {
  readonly credentials: ChannelCredentials
  readonly options: ClientOptions
}

/** How to speak to an endpoint: in plain, or by TLS with what is in the files now. Throws where they do not do. */
export function securityOf(endpoint: string, { tls }: EtcdTarget): Security {
  if (!tls) return { credentials: credentials.createInsecure(), options: {} }
  const [ca, key, cert] = [tls.ca, tls.key, tls.cert].map((file) => (file === undefined ? null : readFileSync(file)))
  const host = endpoint.replace(/:\d+$/, '').replace(/^\[|\]$/g, '')
  if (isIP(host) === 0) return { credentials: credentials.createSsl(ca, key, cert), options: {} }
  // No address may be asked for as a name (RFC 6066; Node warns of it): some name is, and the certificate is checked for the address.
  const verify: VerifyOptions = { checkServerIdentity: (_name, certificate) => checkServerIdentity(host, certificate) }
  return {
    credentials: credentials.createSsl(ca, key, cert, verify),
    options: { 'grpc.ssl_target_name_override': 'etcd' },
  }
}
