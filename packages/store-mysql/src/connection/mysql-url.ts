import type { ConnectionOptions } from 'mysql2'

export interface MysqlTarget {
  readonly connection: ConnectionOptions
  /** The most connections that steps may use at once. Two more are for the bell. */
  readonly connections: number
  /** Without the password, for logs and errors. */
  readonly name: string
}

const SCHEMES = ['mysql:', 'mariadb:']
const DEFAULT_CONNECTIONS = 10

/** `mysql://user:password@host:port/database?connections=10&ssl=true` */
export function targetOf(text: string): MysqlTarget {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const database = decodeURIComponent(url?.pathname.slice(1) ?? '')
  if (!url || !SCHEMES.includes(url.protocol) || url.hostname === '' || database === '' || database.includes('/')) {
    throw new TypeError(
      'a store in MySQL or MariaDB is named like mysql://user:password@host:3306/database; ' +
        'write # / ? @ % in a password as %23 %2F %3F %40 %25',
    )
  }
  const connections = Number(url.searchParams.get('connections') ?? DEFAULT_CONNECTIONS)
  if (!Number.isInteger(connections) || connections < 1 || connections > 1_000) {
    throw new TypeError('connections= takes a whole number from 1 to 1000')
  }
  const ssl = sslOf(url.searchParams.get('ssl'))
  const socketPath = url.searchParams.get('socket')
  const unknown = [...url.searchParams.keys()].find((name) => !['connections', 'ssl', 'socket'].includes(name))
  if (unknown !== undefined) throw new TypeError(`'${unknown}' means nothing here; known are connections, socket, ssl`)
  const user = decodeURIComponent(url.username)
  const port = Number(url.port || 3306)
  return {
    connections,
    name: `mysql://${url.host}/${database}`,
    connection: {
      ...(socketPath === null ? { host: url.hostname.replace(/^\[|\]$/g, ''), port } : { socketPath }),
      database,
      ...(user !== '' && { user }),
      ...(url.password !== '' && { password: decodeURIComponent(url.password) }),
      ...(ssl && { ssl }),
    },
  }
}

function sslOf(value: string | null): ConnectionOptions['ssl'] | undefined {
  if (value === null || value === 'false') return undefined
  if (value === 'true') return {}
  if (value === 'unverified') return { rejectUnauthorized: false }
  throw new TypeError('ssl= takes true, false or unverified')
}
