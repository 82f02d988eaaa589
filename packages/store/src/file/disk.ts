import { constants, fdatasync, writeSync } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { promisify } from 'node:util'
import { lockDirectory } from './directory-lock.ts'

/** What the store needs of a disk. Tests use one that loses unsynced writes, tears the last write, and runs full. */
export interface Disk {
  /** Creates the directory and its parents durably. Returns whether it is new; of two processes that create it, one gets true. */
  makeDirectory(path: string): Promise<boolean>
  /** Removes an empty directory. */
  removeDirectory(path: string): Promise<void>
  list(directory: string): Promise<string[]>
  /** `create` makes an empty file, and replaces one that exists. */
  open(path: string, how: 'read' | 'change' | 'create'): Promise<DiskFile>
  rename(from: string, to: string): Promise<void>
  remove(path: string): Promise<void>
  /** Makes the names in a directory durable. */
  syncDirectory(path: string): Promise<void>
  /** Keeps other processes out until it is released or this process ends. */
  lock(directory: string): Promise<() => Promise<void>>
}

export interface DiskFile {
  size(): Promise<number>
  /** Fills the buffer as far as the file goes. Returns how many bytes it has read. */
  read(buffer: Uint8Array, position: number): Promise<number>
  /** Writes all of it. If it throws, any part may have been written. */
  write(bytes: Uint8Array, position: number): Promise<void>
  /** Makes all writes durable. A sync that failed is never repeated: the next one may succeed although writes were dropped. */
  sync(): Promise<void>
  truncate(size: number): Promise<void>
  close(): Promise<void>
}

export async function readAll(file: DiskFile): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(await file.size())
  return bytes.subarray(0, await file.read(bytes, 0))
}

/** Throws if the disk takes no writes. `path`: of a file for this test. */
export async function probe(disk: Disk, path: string): Promise<void> {
  const file = await disk.open(path, 'create')
  try {
    await file.write(new Uint8Array(64 * 1024), 0)
    await file.sync()
  } finally {
    await file.close()
    await disk.remove(path)
  }
}

const syncOf = promisify(fdatasync)
/** A write of up to this size goes to the page cache, which takes less time than handing it to another thread. */
const SMALL_WRITE = 128 * 1024

const flags = {
  read: constants.O_RDONLY,
  change: constants.O_RDWR,
  create: constants.O_RDWR | constants.O_CREAT | constants.O_TRUNC,
}

/** The disk of this machine. `sync: false` exists for the test that shows what would be lost without syncs. */
export function nodeDisk({ sync = true }: { readonly sync?: boolean } = {}): Disk {
  const syncDirectory = async (path: string) => {
    if (!sync) return
    const directory = await open(path, 'r')
    try {
      await directory.sync()
    } finally {
      await directory.close()
    }
  }
  return {
    async makeDirectory(path) {
      const whole = resolve(path)
      const topmost = await mkdir(dirname(whole), { recursive: true, mode: 0o700 })
      const isNew = await mkdir(whole, { mode: 0o700 }).then(
        () => true,
        (error: NodeJS.ErrnoException) => {
          if (error.code === 'EEXIST') return false
          throw error
        },
      )
      // The name of each new directory is in its parent.
      const above = dirname(topmost ?? whole)
      if (isNew) for (let made = whole; made !== above; made = dirname(made)) await syncDirectory(dirname(made))
      return isNew
    },
    removeDirectory: (path) => rmdir(path),
    list: (directory) => readdir(directory),
    open: async (path, how) => new NodeFile(await open(path, flags[how], 0o600), sync),
    rename,
    remove: (path) => rm(path, { force: true }),
    syncDirectory,
    lock: lockDirectory,
  }
}

class NodeFile implements DiskFile {
  readonly #handle: FileHandle
  readonly #sync: boolean

  constructor(handle: FileHandle, sync: boolean) {
    this.#handle = handle
    this.#sync = sync
  }

  async size(): Promise<number> {
    return (await this.#handle.stat()).size
  }

  async read(buffer: Uint8Array, position: number): Promise<number> {
    let length = 0
    while (length < buffer.length) {
      const { bytesRead } = await this.#handle.read(buffer, length, buffer.length - length, position + length)
      if (bytesRead === 0) break
      length += bytesRead
    }
    return length
  }

  async write(bytes: Uint8Array, position: number): Promise<void> {
    let written = 0
    while (written < bytes.length) {
      const remaining = bytes.length - written
      written +=
        remaining <= SMALL_WRITE
          ? writeSync(this.#handle.fd, bytes, written, remaining, position + written)
          : (await this.#handle.write(bytes, written, remaining, position + written)).bytesWritten
    }
  }

  async sync(): Promise<void> {
    if (this.#sync) await syncOf(this.#handle.fd)
  }

  truncate(size: number): Promise<void> {
    return this.#handle.truncate(size)
  }

  close(): Promise<void> {
    return this.#handle.close()
  }
}
