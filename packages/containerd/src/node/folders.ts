import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { hexOf } from '../blobs/digest.ts'

/** Where things are on one node. All that Baton adds is in `host/.baton`, on the same disk as the blobs: files are renamed. */
export interface NodeFolders {
  readonly name: string
  readonly root: string
  /** What this node has written: one branch of the union. */
  readonly host: string
  /** The union of all nodes' `host` folders, as this node sees it. */
  readonly merged: string
  /** What is being written, a folder each. */
  readonly ingests: string
  /** A file for each blob that containerd on this node counts on, its own or not. */
  readonly uses: string
  /** A file for each blob in `host` of which the lock server does not know yet that this node uses it: nobody else removes it. */
  readonly unconfirmed: string
  /** What the lock server has yet to be told, a file each, in order. */
  readonly pending: string
  /** Where a copy lies for the moment in which it is removed. */
  readonly removed: string
  /** A file with the name of the node: by it the union is seen to have this branch. */
  readonly branches: string
}

export function foldersOf(name: string, root: string): NodeFolders {
  const host = join(root, 'host')
  const own = (folder: string) => join(host, '.baton', folder)
  return {
    name,
    root,
    host,
    merged: join(root, 'merged'),
    ingests: own('ingests'),
    uses: own('uses'),
    unconfirmed: own('unconfirmed'),
    pending: own('pending'),
    removed: own('removed'),
    branches: own('branches'),
  }
}

/** A node's own folders; those of other nodes are theirs to make. */
export async function makeFolders(folders: NodeFolders): Promise<void> {
  const { host, merged, ingests, uses, unconfirmed, pending, removed, branches } = folders
  const all = [blobsIn(host), merged, ingests, uses, unconfirmed, pending, removed, branches]
  for (const folder of all) await mkdir(folder, { recursive: true })
}

/** Of `host` or of `merged`. */
export function blobsIn(tree: string): string {
  return join(tree, 'blobs', 'sha256')
}

/** Of `host` or of `merged`. */
export function blobPath(tree: string, digest: string): string {
  return join(blobsIn(tree), hexOf(digest))
}
