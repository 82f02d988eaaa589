/** The stores that there are. Another one starts here. */
export type StoreKind = 'file' | 'memory' | 'mysql'

const KINDS: Readonly<Record<string, StoreKind>> = {
  file: 'file',
  memory: 'memory',
  mysql: 'mysql',
  mariadb: 'mysql',
}

/** The store in MySQL or MariaDB, whose driver is not installed with Baton. */
export async function mysqlStores(): Promise<typeof import('./mysql/index.ts')> {
  return import('./mysql/index.ts').catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'ERR_MODULE_NOT_FOUND') throw cause
    throw new TypeError('a store in MySQL or MariaDB needs the package mysql2: `npm install mysql2`', { cause })
  })
}

/** Which one a URL names. It may hold a password: only its scheme is ever shown. */
export function kindOf(url: string): StoreKind {
  const scheme = url.split(':', 1)[0]!
  const kind = Object.hasOwn(KINDS, scheme) && url !== scheme ? KINDS[scheme] : undefined
  if (kind === undefined) throw new TypeError(`there is no store '${scheme}:'; use file:DIR, mysql://… or memory:`)
  return kind
}
