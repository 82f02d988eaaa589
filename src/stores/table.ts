import type { OpenStoreOptions, StoreKind } from './kind.ts'
import type { Store } from './store.ts'

/** What is known of a store before any of it is loaded. */
export interface StoreRow {
  readonly name: string
  /** Of its URLs, without the colon. */
  readonly schemes: readonly string[]
  /** How a URL of it looks, for messages. */
  readonly example: string
  /** Whether several processes can have it open at a time: then it goes without a server. */
  readonly isShared: boolean
  /** Whose clock counts: that of the process which has it open, or one that the store has itself. */
  readonly clock: 'process' | 'store'
  /** A package that it needs and that is not installed with Baton. */
  readonly driver?: string
  load(): Promise<{ readonly kind: StoreKind }>
}

/** The stores that there are. Another one is a folder with a `kind.ts`, and a row here. */
export const storeTable: readonly StoreRow[] = [
  {
    name: 'file',
    schemes: ['file'],
    example: 'file:DIR',
    isShared: false,
    clock: 'process',
    load: () => import('./file/kind.ts'),
  },
  {
    name: 'mysql',
    schemes: ['mysql', 'mariadb'],
    example: 'mysql://…',
    isShared: true,
    clock: 'store',
    driver: 'mysql2',
    load: () => import('./mysql/kind.ts'),
  },
  {
    name: 'etcd',
    schemes: ['etcd'],
    example: 'etcd://…',
    isShared: true,
    clock: 'process',
    driver: '@grpc/grpc-js',
    load: () => import('./etcd/kind.ts'),
  },
  {
    name: 'memory',
    schemes: ['memory'],
    example: 'memory:',
    isShared: false,
    clock: 'process',
    load: () => import('./memory/kind.ts'),
  },
]

/** The row of the store that a URL names. It may hold a password: only its scheme is ever shown. */
export function rowOf(url: string): StoreRow {
  const [scheme = ''] = url.split(':', 1)
  const row = storeTable.find(({ schemes }) => schemes.includes(scheme))
  if (!row || url === scheme) throw new TypeError(`there is no store '${scheme}:'; use ${examplesOf(storeTable)}`)
  return row
}

/** Loads a store, and nothing of the others. */
export async function loadKind({ name, driver, load }: StoreRow): Promise<StoreKind> {
  try {
    return (await load()).kind
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    const isDriverMissing = code === 'ERR_MODULE_NOT_FOUND' && driver !== undefined && message.includes(`'${driver}'`)
    if (!isDriverMissing) throw cause
    throw new TypeError(`${name} as a store needs the package ${driver}: \`npm install ${driver}\``, { cause })
  }
}

/** Opens the store that a URL names. What is thrown is as `StoreKind` has it. */
export async function openStore(url: string, options: OpenStoreOptions): Promise<Store> {
  const kind = await loadKind(rowOf(url))
  return kind.open(url, options)
}

/** `file:DIR, mysql://… or memory:` */
export function examplesOf(rows: readonly StoreRow[]): string {
  const examples = rows.map(({ example }) => example)
  return [examples.slice(0, -1).join(', '), ...examples.slice(-1)].filter((part) => part !== '').join(' or ')
}
