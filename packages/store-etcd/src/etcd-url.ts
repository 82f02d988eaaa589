import { readFileSync } from 'node:fs'

export interface EtcdTarget {
  /** `host:port` of each member that was named. */
  readonly endpoints: readonly string[]
  /** What all keys begin with. Ends with '/'. */
  readonly prefix: string
  readonly login?: Login
  /** Without: no TLS. */
  readonly tls?: TlsFiles
  /** How much of the past is kept; without: the store compacts nothing. */
  readonly compactMs: number | undefined
  /** Without user and password, for logs and errors. */
  readonly name: string
}

export interface Login {
  readonly user: string
  readonly password: string
}

/** Names of files (PEM). They are read for every new connection, so that they can be renewed. */
interface TlsFiles {
  /** Whom to trust. Without: whom Node trusts. */
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

const DEFAULT_PORT = 2379
const DEFAULT_PREFIX = 'baton/'
const DEFAULT_COMPACT_MS = 300_000
const LEAST_COMPACT_MS = 1_000
const OPTIONS = ['ca', 'cert', 'compact', 'key', 'tls']
const PEM = {
  ca: { what: 'certificates of the authorities to trust', begins: /^-----BEGIN (TRUSTED )?CERTIFICATE-----/m },
  cert: { what: 'a certificate for this client', begins: /^-----BEGIN CERTIFICATE-----/m },
  key: { what: 'the private key of cert=', begins: /^-----BEGIN [A-Z ]*PRIVATE KEY-----/m },
} as const
const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

// scheme, user and password, hosts, path, options
const URL_PARTS = /^etcd:\/\/(?:([^@/?#]*)@)?([^@/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/
const HOST = /^(\[[0-9a-f:.]+(?:%\w+)?\]|[^\s:[\]]+)(?::(\d{1,5}))?$/i

const EXAMPLE =
  'a store in etcd is named like etcd://h1:2379,h2:2379,h3:2379/prefix or etcd://user:password@host:2379; ' +
  'write # / ? @ % in a password as %23 %2F %3F %40 %25'

/** `etcd://user:password@h1:2379,h2:2379,h3:2379/prefix?ca=FILE&cert=FILE&key=FILE&tls=true&compact=5m` */
export function targetOf(text: string): EtcdTarget {
  const parts = URL_PARTS.exec(text)
  if (!parts) throw new TypeError(EXAMPLE)
  const [, login, hosts = '', path = '', query = ''] = parts
  const options = new URLSearchParams(query)
  const unknown = [...options.keys()].find((name) => !OPTIONS.includes(name))
  if (unknown !== undefined) throw new TypeError(`'${unknown}' means nothing here; known are ${OPTIONS.join(', ')}`)
  const endpoints = [...new Set(hosts.split(',').map(endpointOf))]
  const prefix = prefixOf(decoded(path))
  const tls = tlsOf(options)
  return {
    endpoints,
    prefix,
    ...(login !== undefined && { login: loginOf(login) }),
    ...(tls && { tls }),
    compactMs: compactMsOf(options.get('compact')),
    name: `etcd://${endpoints.join(',')}/${prefix}`,
  }
}

function endpointOf(text: string): string {
  const [, host, port = DEFAULT_PORT] = HOST.exec(text) ?? []
  if (host === undefined || Number(port) < 1 || Number(port) > 65_535) throw new TypeError(EXAMPLE)
  return `${host}:${Number(port)}`
}

function prefixOf(path: string): string {
  if (path === '') return DEFAULT_PREFIX
  return path.endsWith('/') ? path : `${path}/`
}

function loginOf(text: string): Login {
  const [, user = '', password = ''] = /^([^:]*):(.*)$/.exec(text) ?? []
  if (user === '' || password === '') {
    throw new TypeError('a user of etcd comes with a password: etcd://user:password@host:2379')
  }
  return { user: decoded(user), password: decoded(password) }
}

function tlsOf(options: URLSearchParams): TlsFiles | undefined {
  const tls = options.get('tls')
  if (tls !== null && tls !== 'true' && tls !== 'false') throw new TypeError('tls= takes true or false')
  const ca = fileOf(options, 'ca')
  const cert = fileOf(options, 'cert')
  const key = fileOf(options, 'key')
  if ((cert === undefined) !== (key === undefined)) {
    throw new TypeError('a client certificate takes both: cert=FILE and key=FILE')
  }
  const isNamed = ca !== undefined || cert !== undefined
  if (tls === 'false' && isNamed) throw new TypeError('ca=, cert= and key= are for TLS: leave them out, or tls=false')
  if (tls !== 'true' && !isNamed) return undefined
  return { ...(ca !== undefined && { ca }), ...(cert !== undefined && { cert, key }) }
}

/** What is wrong with a file is said now, and not by each connection that fails because of it. */
function fileOf(options: URLSearchParams, name: keyof typeof PEM): string | undefined {
  const file = options.get(name)
  if (file === null) return undefined
  const { what, begins } = PEM[name]
  const wanted = `${name}= takes a file with ${what} (PEM)`
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    throw new TypeError(`${wanted}, and '${file}' cannot be read (${(cause as NodeJS.ErrnoException).code})`, { cause })
  }
  if (!begins.test(text)) throw new TypeError(`${wanted}, and '${file}' holds none`)
  return file
}

function compactMsOf(text: string | null): number | undefined {
  if (text === null) return DEFAULT_COMPACT_MS
  if (text === 'off') return undefined
  const [, amount, unit] = /^(\d+)([smhd])$/.exec(text) ?? []
  const ms = Number(amount) * UNIT_MS[unit as keyof typeof UNIT_MS]
  if (!(ms >= LEAST_COMPACT_MS && ms <= 365 * UNIT_MS.d)) {
    throw new TypeError('compact= takes how much of the past is kept, like 30s, 5m or 1h, or off')
  }
  return ms
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (cause) {
    throw new TypeError(EXAMPLE, { cause })
  }
}
