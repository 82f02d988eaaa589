import { constants, fdatasync, writeSync } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { Disk, DiskFile } from './disk.ts'
import { lockDirectory } from './lock.ts'

const syncOf = promisify(fdatasync)
/** Writes up to this size only go to memory: that is over sooner than another thread has begun. */
const SMALL_WRITE = 128 * 1024

const flags = {
  read: constants.O_RDONLY,
  change: constants.O_RDWR,
  create: constants.O_RDWR | constants.O_CREAT | constants.O_TRUNC,
}

/** The disk of this machine. `sync: false` exists for the test that shows what is lost by it. */
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
      // The name of each stands in the one above it.
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
