import { join } from 'node:path'
import { unfinished } from './directory.ts'
import type { Disk } from './disk.ts'

/** Whether the disk takes something again. Throws where it does not. */
export async function probe(disk: Disk, directory: string): Promise<void> {
  const path = join(directory, unfinished('probe'))
  const file = await disk.open(path, 'create')
  try {
    await file.write(new Uint8Array(64 * 1024), 0)
    await file.sync()
  } finally {
    await file.close()
    await disk.remove(path)
  }
}
