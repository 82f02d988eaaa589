import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { errnoOf } from '../errors.ts'
import type { NodeFolders } from '../node/folders.ts'
import { hexOf } from './digest.ts'

/**
 * A copy is marked before it is published, and until the lock server knows that its node uses it: until then nobody else may
 * remove it. Where that cannot be told, because the server is away, the mark stays.
 */
export async function mark(own: NodeFolders, digest: string): Promise<void> {
  const file = await open(markPath(own, digest), 'w')
  await file.close()
}

export async function unmark(own: NodeFolders, digest: string): Promise<void> {
  await rm(markPath(own, digest), { force: true })
}

export async function isMarked(node: NodeFolders, digest: string): Promise<boolean> {
  try {
    const file = await open(markPath(node, digest), 'r')
    await file.close()
    return true
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false
    throw error
  }
}

function markPath({ unconfirmed }: NodeFolders, digest: string): string {
  return join(unconfirmed, hexOf(digest))
}
