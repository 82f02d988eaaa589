/**
 * All that the store asks of a disk, so that tests can put one in its place that loses what was not synced, tears the
 * last write, and runs full.
 */
export interface Disk {
  /** Creates the directory and those above it where they are missing, for good. Says whether it was missing: of two that ask, one is told so. */
  makeDirectory(path: string): Promise<boolean>
  /** Removes a directory that is empty. */
  removeDirectory(path: string): Promise<void>
  list(directory: string): Promise<string[]>
  /** `create` makes a new, empty file, also in place of one that is there. */
  open(path: string, how: 'read' | 'change' | 'create'): Promise<DiskFile>
  rename(from: string, to: string): Promise<void>
  remove(path: string): Promise<void>
  /** Makes the names in a directory durable, as they are now. */
  syncDirectory(path: string): Promise<void>
  /** Keeps every other process out until it is released, or until this process is gone, however it went. */
  lock(directory: string): Promise<() => Promise<void>>
}

export interface DiskFile {
  size(): Promise<number>
  /** Fills the buffer from there, as far as the file goes; says how far. */
  read(buffer: Uint8Array, position: number): Promise<number>
  /** All of it, or it throws; then any part of it may have been written. */
  write(bytes: Uint8Array, position: number): Promise<void>
  /** What has been written is durable. A sync that failed says nothing of what is on the disk and is never repeated. */
  sync(): Promise<void>
  truncate(size: number): Promise<void>
  close(): Promise<void>
}

export async function readAll(file: DiskFile): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(await file.size())
  return bytes.subarray(0, await file.read(bytes, 0))
}
