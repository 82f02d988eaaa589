import { basename, dirname } from 'node:path'
import type { Disk, DiskFile } from '@baton-lock/store/file/disk'

/** What has been asked of the disk since the last sync, in order. */
type Unsynced =
  | { readonly kind: 'write'; readonly position: number; readonly bytes: Buffer }
  | { readonly kind: 'truncate'; readonly size: number }

interface Inode {
  /** As programs see it. */
  seen: Buffer
  /** As it is after the power was off. */
  durable: Buffer
  unsynced: Unsynced[]
}

/** How much of a write that was not synced is on the disk all the same: that many of its first bytes. */
export type Tear = (write: { readonly path: string; readonly length: number; readonly isLast: boolean }) => number

export class DiskError extends Error {
  readonly code: string

  constructor(code: string) {
    super(`${code}: simulated`)
    this.code = code
  }
}

/** A disk that forgets what was not synced, tears writes, runs full and fails, all on demand. */
export class SimulatedDisk implements Disk {
  #names = new Map<string, Inode>()
  #durableNames = new Map<string, Inode>()
  /** Those that were made; where a file is, there is one too. */
  #directories = new Set<string>()
  #isOff = false
  readonly #locked = new Set<string>()
  /** How many bytes there is room for. */
  capacity = Infinity
  /** Asked before each thing that is done; what it returns is thrown. */
  fault: (what: 'write' | 'sync' | 'create' | 'truncate' | 'rename', path: string) => Error | undefined = () =>
    undefined
  /** Writes wait for this. */
  beforeWrite: (path: string) => Promise<void> | undefined = () => undefined
  /** Syncs wait for this. */
  beforeSync: (path: string) => Promise<void> = async () => {}
  /** Told what has just become durable. */
  onSynced: (path: string, writes: readonly Buffer[]) => void = () => {}
  /** How many things have been done, and after which of them the power goes. */
  operations = 0
  offAfter = Infinity

  /** The power goes, now. Whatever is under way never comes to an end. */
  turnOff(): void {
    this.#isOff = true
  }

  get isOff(): boolean {
    return this.#isOff
  }

  /** The same disk in the hands of the next process: only the one before was killed, so nothing is forgotten yet. */
  afterKill(): SimulatedDisk {
    this.turnOff()
    const disk = new SimulatedDisk()
    disk.#names = this.#names
    disk.#durableNames = this.#durableNames
    disk.#directories = this.#directories
    return disk
  }

  /** The same disk after the power has come back. */
  afterCrash(tear: Tear = () => 0): SimulatedDisk {
    const disk = new SimulatedDisk()
    for (const [path, inode] of this.#durableNames) {
      const bytes = survivors(path, inode, tear)
      disk.#names.set(path, { seen: bytes, durable: Buffer.from(bytes), unsynced: [] })
    }
    disk.#durableNames = new Map(disk.#names)
    disk.#directories = new Set(this.#directories)
    return disk
  }

  /** What a file holds, for tests that damage it. */
  contentOf(path: string): Buffer {
    return this.#inode(path).seen
  }

  replace(path: string, bytes: Buffer): void {
    const inode = this.#names.get(path) ?? { seen: bytes, durable: bytes, unsynced: [] }
    Object.assign(inode, { seen: bytes, durable: Buffer.from(bytes), unsynced: [] })
    this.#names.set(path, inode)
    this.#durableNames.set(path, inode)
  }

  get used(): number {
    return [...this.#names.values()].reduce((sum, { seen }) => sum + seen.length, 0)
  }

  async makeDirectory(path: string): Promise<boolean> {
    const isNew = !this.#isDirectory(path)
    this.#directories.add(path)
    return isNew
  }

  async removeDirectory(path: string): Promise<void> {
    await this.#does()
    this.#directories.delete(path)
    if (this.#isDirectory(path)) throw new DiskError('ENOTEMPTY')
  }

  async list(directory: string): Promise<string[]> {
    await this.#does()
    if (this.#names.has(directory)) throw new DiskError('ENOTDIR')
    if (!this.#isDirectory(directory)) throw new DiskError('ENOENT')
    const names = [...this.#names.keys(), ...this.#directories]
    return names.filter((path) => dirname(path) === directory).map((path) => basename(path))
  }

  #isDirectory(path: string): boolean {
    if (path === '/' || this.#directories.has(path)) return true
    return [...this.#names.keys()].some((name) => name.startsWith(`${path}/`))
  }

  async open(path: string, how: 'read' | 'change' | 'create'): Promise<DiskFile> {
    await this.#does(how === 'create' ? 'create' : undefined, path)
    if (how === 'create') this.#names.set(path, { seen: Buffer.alloc(0), durable: Buffer.alloc(0), unsynced: [] })
    return this.#file(path, this.#inode(path))
  }

  async rename(from: string, to: string): Promise<void> {
    await this.#does('rename', to)
    this.#names.set(to, this.#inode(from))
    this.#names.delete(from)
  }

  async remove(path: string): Promise<void> {
    await this.#does()
    this.#names.delete(path)
  }

  async syncDirectory(path: string): Promise<void> {
    await this.#does('sync', path)
    this.#durableNames = new Map(this.#names)
  }

  async lock(directory: string): Promise<() => Promise<void>> {
    if (this.#locked.has(directory)) throw new Error('the simulated disk is locked')
    this.#locked.add(directory)
    return async () => {
      this.#locked.delete(directory)
    }
  }

  #file(path: string, inode: Inode): DiskFile {
    return {
      size: async () => inode.seen.length,
      read: async (buffer, position) => {
        await this.#does()
        return inode.seen.copy(buffer, 0, position)
      },
      write: async (bytes, position) => {
        const isReady = this.beforeWrite(path)
        if (isReady) await isReady
        await this.#does('write', path)
        const room = this.capacity - this.used + inode.seen.length
        const fitting = Buffer.from(bytes.subarray(0, Math.max(0, Math.min(bytes.length, room - position))))
        perform(inode, { kind: 'write', position, bytes: fitting })
        if (fitting.length < bytes.length) throw new DiskError('ENOSPC')
      },
      sync: async () => {
        try {
          await this.beforeSync(path)
          await this.#does('sync', path)
        } catch (error) {
          // As Linux does it: what could not be written is forgotten about, and the next sync is fine.
          inode.unsynced = []
          throw error
        }
        const { unsynced } = inode
        inode.unsynced = []
        for (const change of unsynced) inode.durable = changed(inode.durable, change)
        this.onSynced(
          path,
          unsynced.flatMap((change) => (change.kind === 'write' ? [change.bytes] : [])),
        )
      },
      truncate: async (size) => {
        await this.#does('truncate', path)
        perform(inode, { kind: 'truncate', size })
      },
      close: async () => {},
    }
  }

  #inode(path: string): Inode {
    const inode = this.#names.get(path)
    if (!inode) throw new DiskError('ENOENT')
    return inode
  }

  async #does(what?: Parameters<SimulatedDisk['fault']>[0], path = ''): Promise<void> {
    if (this.operations++ >= this.offAfter) this.turnOff()
    const error = this.#isOff || what === undefined ? undefined : this.fault(what, path)
    if (this.#isOff) return new Promise(() => {})
    if (error) throw error
  }
}

function perform(inode: Inode, change: Unsynced): void {
  inode.seen = changed(inode.seen, change)
  inode.unsynced.push(change)
}

function changed(bytes: Buffer, change: Unsynced): Buffer {
  if (change.kind === 'truncate') {
    if (change.size <= bytes.length) return bytes.subarray(0, change.size)
    return Buffer.concat([bytes, Buffer.alloc(change.size - bytes.length)])
  }
  const end = change.position + change.bytes.length
  const grown = Buffer.alloc(Math.max(bytes.length, end))
  bytes.copy(grown)
  change.bytes.copy(grown, change.position)
  return grown
}

function survivors(path: string, { durable, unsynced }: Inode, tear: Tear): Buffer {
  let bytes: Buffer = Buffer.from(durable)
  for (const [index, change] of unsynced.entries()) {
    if (change.kind === 'truncate') continue
    const isLast = index === unsynced.length - 1
    const kept = tear({ path, length: change.bytes.length, isLast })
    if (kept > 0) bytes = changed(bytes, { ...change, bytes: change.bytes.subarray(0, kept) })
  }
  return bytes
}
