import { type Baton, type ConnectOptions, connect } from '@baton-lock/client'
import { systemClientClock } from '@baton-lock/client/internal'
import { ContentStore } from '../blobs/content-store.ts'
import { Storage } from '../blobs/storage.ts'
import { ContentError } from '../errors.ts'
import type { ContentConfig } from '../node/config.ts'
import { UnionMount } from '../node/mergerfs.ts'

/** Where the content stores of all nodes meet. It is built in, with one holder per resource. */
export const CONTENT_NAMESPACE = 'content'

/** A node that dies is noticed after this long; another one then fetches what it was at. */
const TTL_MS = 10_000

export interface OpenStoreOptions {
  readonly log: (sentence: string) => void
  /** For `https:` servers. */
  readonly tls?: ConnectOptions['tls']
  /** Where the configuration names none. */
  readonly token?: string | undefined
}

/** The content store of a node, and its way to the lock. */
export async function openContentStore(config: ContentConfig, options: OpenStoreOptions): Promise<ContentStore> {
  const baton = await reachLock(config, options)
  try {
    const { own } = config
    const { log } = options
    const clock = systemClientClock()
    const storage = new Storage(clock, own.merged)
    const mount = new UnionMount({ own, nodes: [...config.nodes.values()], clock, storage, log })
    return await ContentStore.open({ config, baton, clock, log, storage, mount, trees: [own.merged] })
  } catch (error) {
    await baton.close()
    throw error
  }
}

/** Contacts nobody yet, where the lock is with servers. */
export function reachLock({ node, lock, token }: ContentConfig, options: OpenStoreOptions): Promise<Baton> {
  const connecting: ConnectOptions = {
    node,
    namespace: CONTENT_NAMESPACE,
    ttlMs: TTL_MS,
    token: token ?? options.token,
    whenUnavailable: 'wait',
    onNotice: options.log,
    ...(options.tls && { tls: options.tls }),
  }
  return 'store' in lock ? openLock(lock.store, connecting) : connect(lock.servers, connecting)
}

/** Without a server the lock is run by this process, which takes the whole of Baton. */
async function openLock(store: string, options: ConnectOptions): Promise<Baton> {
  const { open } = await loadLock(() => import('baton-lock'))
  return open(store, options)
}

/** Loads baton-lock, which only a lock without a server needs. */
export async function loadLock<Module>(load: () => Promise<Module>): Promise<Module> {
  try {
    return await load()
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    const isMissing =
      ['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'].includes(code ?? '') && message.includes("'baton-lock'")
    if (!isMissing) throw cause
    const sentence = 'store: a lock without a server needs the package baton-lock: npm install baton-lock'
    throw new ContentError('bad-config', sentence, { cause })
  }
}
