import { dirname } from 'node:path'
import type { Disk, DiskFile } from './disk.ts'

/** A sync is cheapest if the file does not grow. So it is filled with zeros ahead of the writes, in steps of this size at most. */
const GROWTH = 1024 * 1024
const zeros = new Uint8Array(GROWTH)

/** One file of the log: frames one after another, then zeros. */
export class Log {
  readonly number: number
  readonly #disk: Disk
  readonly #path: string
  readonly #growth: number
  readonly #file: DiskFile
  #isClosed = false
  #end: number
  /** Up to here the file is filled with zeros. */
  #ready: number
  #growAgainAt = 0

  private constructor({ number, disk, path, file, end, limit = Infinity }: LogParts) {
    this.number = number
    this.#disk = disk
    this.#path = path
    this.#growth = Math.min(GROWTH, limit)
    this.#file = file
    this.#end = end
    this.#ready = end
  }

  /** Creates an empty one. */
  static create(disk: Disk, name: LogName): Promise<Log> {
    return Log.#open({ disk, name, how: 'create', end: 0 }, (log) => log.#grow(0))
  }

  /**
   * Continues a log after its last whole frame, and cuts off the rest. The process that wrote that frame may have been killed before
   * its sync, or the sync may have failed. Then the frame is in the page cache only, and another sync would not write it. So it
   * is written again.
   */
  static goOn(disk: Disk, name: LogName, { end, lastFrame }: LogEnd): Promise<Log> {
    return Log.#open({ disk, name, how: 'change', end }, async (log) => {
      await log.#file.truncate(end)
      await log.#file.write(lastFrame, end - lastFrame.length)
    })
  }

  /** Resolves when the file and its name are durable. */
  static async #open({ disk, name, how, end }: Opening, prepare: (log: Log) => Promise<void>): Promise<Log> {
    const log = new Log({ ...name, disk, file: await disk.open(name.path, how), end })
    try {
      await prepare(log)
      await log.#file.sync()
      await disk.syncDirectory(dirname(name.path))
      return log
    } catch (error) {
      await log.close().catch(() => {})
      throw error
    }
  }

  /** How much has been written and synced. */
  get size(): number {
    return this.#end
  }

  /** Resolves when the frame is durable. If it throws, the log can only be cut and closed. */
  async append(frame: Uint8Array): Promise<void> {
    if (this.#end + frame.length > this.#ready && this.#end >= this.#growAgainAt) await this.#grow(frame.length)
    await this.#file.write(frame, this.#end)
    await this.#file.sync()
    this.#end += frame.length
  }

  /**
   * After a failed append: truncates what it may have written, through a new descriptor, as a sync on the old one may report success
   * for pages that the kernel has dropped. Returns whether that succeeded; if not, it can be tried again. Closes the log.
   */
  async cut(): Promise<boolean> {
    await this.close().catch(() => {})
    try {
      const file = await this.#disk.open(this.#path, 'change')
      try {
        await file.truncate(this.#end)
        await file.sync()
      } finally {
        await file.close()
      }
      return true
    } catch {
      return false
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await this.#file.close()
  }

  /** Cuts off the zeros, and closes. */
  async trim(): Promise<void> {
    await this.#file.truncate(this.#end)
    await this.#file.sync()
    await this.close()
  }

  /** A disk that is too full for the zeros may still have room for the next frames. */
  async #grow(needed: number): Promise<void> {
    try {
      const from = Math.max(this.#ready, this.#end)
      await this.#file.write(zeros.subarray(0, this.#growth), from)
      this.#ready = Math.max(from + this.#growth, this.#end + needed)
    } catch {
      this.#growAgainAt = this.#end + this.#growth / 4
    }
  }
}

interface LogName {
  readonly number: number
  readonly path: string
  /** About how long it will be. */
  readonly limit?: number
}

/** Where the last whole frame of a log ends, and that frame, which is empty if there is none. */
export interface LogEnd {
  readonly end: number
  readonly lastFrame: Uint8Array
}

interface Opening {
  readonly disk: Disk
  readonly name: LogName
  readonly how: 'change' | 'create'
  readonly end: number
}

interface LogParts extends LogName {
  readonly disk: Disk
  readonly file: DiskFile
  readonly end: number
}
