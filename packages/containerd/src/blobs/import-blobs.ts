import { access, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { blobsIn, type NodeFolders } from '../node/folders.ts'
import { digestOf, isDigest } from './digest.ts'
import { writeDurably } from './durable.ts'

/**
 * The first time, a node may have blobs already, of another content store over the same folders: all of its own are taken to
 * be in use. containerd deletes what it does not know.
 */
export async function importBlobs(
  own: NodeFolders,
  { nowMs, log }: { readonly nowMs: number; readonly log: (sentence: string) => void },
): Promise<void> {
  const done = join(own.host, '.baton', 'imported')
  const isDone = await access(done).then(
    () => true,
    () => false,
  )
  if (isDone) return
  const blobs = (await readdir(blobsIn(own.host))).filter((hex) => isDigest(digestOf(hex)))
  for (const hex of blobs) {
    const { size } = await stat(join(blobsIn(own.host), hex))
    await writeDurably(join(own.uses, hex), JSON.stringify({ size, atMs: nowMs }))
  }
  await writeDurably(done, '')
  if (blobs.length > 0) log(`${blobs.length} blobs that were here already are taken to be in use`)
}
