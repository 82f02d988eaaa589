import type { OpenStoreOptions, StoreKind } from '@baton-lock/store/kind'
import type { Store } from '@baton-lock/store/store'
import { loadOptional } from './optional-package.ts'

/** A store as it is described before its code is loaded. */
export interface StoreRow {
  readonly name: string
  /** The schemes of its URLs, without the colon. */
  readonly schemes: readonly string[]
  /** An example of its URL, for messages. */
  readonly example: string
  /** Whether several processes can open it at the same time, so that it works without a server. */
  readonly isShared: boolean
  /** The clock that counts: of the process that opens the store, or the store's own. */
  readonly clock: 'process' | 'store'
  /** The package that the store is in, if it is not part of baton-lock. */
  readonly package?: string
  load(): Promise<{ readonly kind: StoreKind }>
}

/** All stores. */
export const storeTable: readonly StoreRow[] = [
  {
    name: 'file',
    schemes: ['file'],
    example: 'file:DIR',
    isShared: false,
    clock: 'process',
    load: () => import('@baton-lock/store/file/kind'),
  },
  {
    name: 'mysql',
    schemes: ['mysql', 'mariadb'],
    example: 'mysql://…',
    isShared: true,
    clock: 'store',
    package: '@baton-lock/store-mysql',
    load: () => import('@baton-lock/store-mysql'),
  },
  {
    name: 'etcd',
    schemes: ['etcd'],
    example: 'etcd://…',
    isShared: true,
    clock: 'process',
    package: '@baton-lock/store-etcd',
    load: () => import('@baton-lock/store-etcd'),
  },
  {
    name: 'memory',
    schemes: ['memory'],
    example: 'memory:',
    isShared: false,
    clock: 'process',
    load: () => import('@baton-lock/store/memory/kind'),
  },
]

/** The row of the store that a URL names. It may hold a password: only its scheme is ever shown. */
export function rowOf(url: string): StoreRow {
  const [scheme = ''] = url.split(':', 1)
  const row = storeTable.find(({ schemes }) => schemes.includes(scheme))
  if (!row || url === scheme) throw new TypeError(`there is no store '${scheme}:'; use ${examplesOf(storeTable)}`)
  return row
}

/** Loads one store, not the others. */
export async function loadKind({ name, package: from, load }: StoreRow): Promise<StoreKind> {
  const { kind } = await (from === undefined ? load() : loadOptional(`the store ${name}`, from, load))
  return kind
}

/** Opens the store that a URL names. Throws the errors that `StoreKind` describes. */
export async function openStore(url: string, options: OpenStoreOptions): Promise<Store> {
  const kind = await loadKind(rowOf(url))
  return kind.open(url, options)
}

/** `file:DIR, mysql://… or memory:` */
export function examplesOf(rows: readonly StoreRow[]): string {
  const examples = rows.map(({ example }) => example)
  return [examples.slice(0, -1).join(', '), ...examples.slice(-1)].filter((part) => part !== '').join(' or ')
}
