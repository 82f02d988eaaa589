import { mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeDurably } from '../blobs/durable.ts'
import { ContentError, errnoOf } from '../errors.ts'
import type { NodeFolders } from './folders.ts'

/** Of all that Baton keeps beside the blobs. */
const FORMAT = 'baton content store, format 1\n'

/** Refuses a folder of an unknown format before anything in it is changed. A new folder gets the format first of all. */
export async function takeFormat(own: NodeFolders): Promise<void> {
  if (await isNew(own)) {
    await mkdir(ownFolder(own), { recursive: true })
    await writeDurably(join(ownFolder(own), 'format'), FORMAT)
  }
}

/** Whether there is no content store yet. Throws if there is one of an unknown format. */
export async function isNew(own: NodeFolders): Promise<boolean> {
  const found = await unlessMissing(readFile(join(ownFolder(own), 'format'), 'utf8'))
  if (found === FORMAT) return false
  const others = (await unlessMissing(readdir(ownFolder(own)))) ?? []
  // A crash may have left the folder, or the file that was to become the format.
  if (found === undefined && others.every((name) => name === 'format.new')) return true
  const format = found === undefined ? 'an unknown format' : `the format '${found.trim()}'`
  throw new ContentError(
    'unknown-format',
    `${ownFolder(own)} is in ${format}, but this Baton reads only '${FORMAT.trim()}': ` +
      'use the version of Baton that wrote it, or a new folder for this node',
  )
}

function ownFolder({ host }: NodeFolders): string {
  return join(host, '.baton')
}

async function unlessMissing<Value>(read: Promise<Value>): Promise<Value | undefined> {
  try {
    return await read
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw error
  }
}
