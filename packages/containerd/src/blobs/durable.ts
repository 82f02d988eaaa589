import { open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'

/** A small file, whole or not at all, also after a power loss. */
export async function writeDurably(path: string, text: string): Promise<void> {
  const beside = `${path}.new`
  const file = await open(beside, 'w')
  try {
    await file.writeFile(text)
    await file.datasync()
  } finally {
    await file.close()
  }
  await renameDurably(beside, path)
}

export async function renameDurably(from: string, to: string): Promise<void> {
  await rename(from, to)
  await syncFolder(dirname(to))
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
