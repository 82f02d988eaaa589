import { pipeline } from 'node:stream/promises'
import { backupRoute } from '@baton-lock/protocol'
import { isStoreUnavailable } from '@baton-lock/service'
import type { Guard } from '../auth/guard.ts'
import { accessTo } from '../auth/roles.ts'
import type { Exchange } from '../http/exchange.ts'
import type { HttpRoute } from '../http/router.ts'
import type { Audit } from '../logging/audit.ts'
import { Refusal } from '../refusal.ts'

/** A store as one file. */
export interface StoreBackup {
  readonly bytes: number
  readonly chunks: AsyncIterable<Uint8Array> & { return(): Promise<unknown> }
}

interface BackupOptions {
  /** `undefined` if the store is backed up by other means. */
  readonly backup: (() => Promise<StoreBackup>) | undefined
  readonly guard: Guard
  readonly audit: Audit
  /** A client that takes nothing for so long is cut. */
  readonly idleMs: number
}

const OTHER_MEANS = 'The store of this server is backed up by its own means; see docs/operations.md.'

/** GET /v1/backup: the store as it is now, as one file. One chunk of it is in memory at a time. */
export function backupRoutes({ backup, guard, audit, idleMs }: BackupOptions): HttpRoute[] {
  const { method, path } = backupRoute
  const access = accessTo({ method, path })
  const handle = async (exchange: Exchange): Promise<undefined> => {
    const { asker, response } = exchange
    const note = audit.ofBackup(asker, { ...exchange.name })
    const begin = async () => {
      guard.enter(asker, access)
      if (!backup) throw new Refusal('bad-request', OTHER_MEANS)
      return backup()
    }
    const { bytes, chunks } = await begin().catch((error: Error) => {
      if (isStoreUnavailable(error)) exchange.log.error('backup not written', { error: error.message })
      note('refused', error)
      throw error
    })
    // The timeout is that of the connection, so no other request may wait on it for an answer that takes longer.
    const headers = exchange.endConnection()
    response.setTimeout(idleMs, () => response.destroy())
    response.writeHead(200, {
      ...headers,
      'content-type': 'application/octet-stream',
      'content-length': bytes,
    })
    exchange.logAnswer(200)
    await pipeline(chunks, response).then(
      () => note('sent'),
      () => note('cut'),
    )
    await chunks.return()
  }
  return [{ method, path, handle }]
}
