import { readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { errnoOf } from '../errors.ts'
import { blobPath, type NodeFolders } from '../node/folders.ts'
import { hexOf } from './digest.ts'
import { isMarked, unmark } from './mark.ts'

export interface Removal {
  /** The nodes from whose folders a copy was taken. */
  readonly from: readonly string[]
  /** What could not be removed, and why; the node that it belongs to asks again within the hour. */
  readonly left: readonly string[]
}

/** Removes every copy of a blob that nobody uses, whoever's folder it lies in. Runs under the grant of a `delete`. */
export async function removeCopies(
  digest: string,
  { nodes, own }: { readonly nodes: Iterable<NodeFolders>; readonly own: NodeFolders },
): Promise<Removal> {
  const from: string[] = []
  const left: string[] = []
  for (const node of nodes) {
    try {
      if (await removeCopy(digest, node, node.name === own.name)) from.push(node.name)
    } catch (error) {
      left.push(`${blobPath(node.host, digest)}: ${(error as Error).message}`)
    }
  }
  await unmark(own, digest)
  return { from, left }
}

/**
 * A node that was cut off may publish its own copy at this very moment, without a grant. It marks it first: so the copy is
 * put aside, and only what is not marked then is removed.
 */
async function removeCopy(digest: string, node: NodeFolders, isOwn: boolean): Promise<boolean> {
  const path = blobPath(node.host, digest)
  const aside = join(node.removed, hexOf(digest))
  if (!isOwn && (await isMarked(node, digest))) return false
  try {
    await rename(path, aside)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false
    throw error
  }
  if (!isOwn && (await isMarked(node, digest))) {
    await rename(aside, path)
    return false
  }
  await rm(aside, { force: true })
  return true
}

/** What lay aside when a process ended: put back where this node counts on it. */
export async function settleRemoved(own: NodeFolders, isUsed: (hex: string) => boolean): Promise<void> {
  for (const hex of await readdir(own.removed)) {
    const aside = join(own.removed, hex)
    if (isUsed(hex)) await rename(aside, join(own.host, 'blobs', 'sha256', hex))
    else await rm(aside, { force: true })
  }
}
