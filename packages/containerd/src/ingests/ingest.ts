import { createHash, type Hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { renameDurably } from '../blobs/durable.ts'
import { asContentError, ContentError } from '../errors.ts'

/** What is known of an ingest beside its bytes. */
interface Described {
  readonly ref: string
  readonly total: number
  readonly startedAtMs: number
}

/** So many bytes may wait for the disk: the rest of them is synced when it is committed, which must not take long. */
const UNSYNCED_MAX = 32 * 1024 * 1024

/** One blob as it comes in: a folder with its bytes so far, which outlives the process. */
export class Ingest {
  readonly ref: string
  readonly startedAtMs: number
  readonly #folder: string
  #total: number
  #updatedAtMs: number
  #offset: number
  #file: FileHandle | undefined
  #hash: Hash | undefined
  #unsynced = 0
  #syncing: Promise<void> = Promise.resolve()

  private constructor(folder: string, { ref, total, startedAtMs }: Described, has: { offset: number; atMs: number }) {
    this.#folder = folder
    this.ref = ref
    this.#total = total
    this.startedAtMs = startedAtMs
    this.#offset = has.offset
    this.#updatedAtMs = has.atMs
  }

  /** Its folder has been made. */
  static async create(folder: string, described: Described): Promise<Ingest> {
    await writeFile(join(folder, 'data'), '')
    await writeFile(join(folder, 'ingest.json'), JSON.stringify(described))
    return new Ingest(folder, described, { offset: 0, atMs: described.startedAtMs })
  }

  /** What an earlier process left; throws where that is not a whole one. */
  static async load(folder: string): Promise<Ingest> {
    const described = JSON.parse(await readFile(join(folder, 'ingest.json'), 'utf8')) as Described
    const { size, mtimeMs } = await stat(join(folder, 'data'))
    return new Ingest(folder, described, { offset: size, atMs: mtimeMs })
  }

  get offset(): number {
    return this.#offset
  }

  get total(): number {
    return this.#total
  }

  get updatedAtMs(): number {
    return this.#updatedAtMs
  }

  expect(total: number): void {
    if (total > 0) this.#total = total
  }

  /** Ready for more bytes: what is there already is read once, as it counts in the digest. */
  async prepare(): Promise<void> {
    if (this.#hash) return
    const hash = createHash('sha256')
    const path = join(this.#folder, 'data')
    if (this.#offset > 0) {
      for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024, end: this.#offset - 1 }))
        hash.update(chunk)
    }
    this.#file ??= await open(path, 'r+')
    this.#hash = hash
  }

  /** Appends; or begins anew, at 0. Returns the offset after it. */
  async write(offset: number, data: Uint8Array, nowMs: number): Promise<number> {
    if (offset === 0 && this.#offset > 0) await this.#restart()
    await this.prepare()
    if (offset !== this.#offset) {
      throw new ContentError('out-of-range', `${this.ref} continues at ${this.#offset}, not at ${offset}`)
    }
    try {
      await writeAll(this.#file!, data, offset)
    } catch (error) {
      throw asContentError(error, this.#folder)
    }
    this.#hash!.update(data)
    this.#offset += data.byteLength
    this.#updatedAtMs = nowMs
    await this.#sync(data.byteLength)
    return this.#offset
  }

  /** The digest of what has come. After it nothing more can be written. */
  async seal(): Promise<string> {
    await this.prepare()
    try {
      await this.#syncing
      await this.#file!.truncate(this.#offset)
      await this.#file!.datasync()
    } catch (error) {
      throw asContentError(error, this.#folder)
    }
    const digest = `sha256:${this.#hash!.digest('hex')}`
    this.#hash = undefined
    return digest
  }

  /** Makes it a blob, by a rename: it is there whole, or not at all. */
  async publish(path: string): Promise<void> {
    await this.close()
    await renameDurably(join(this.#folder, 'data'), path)
    await rm(this.#folder, { recursive: true, force: true })
  }

  async discard(): Promise<void> {
    await this.close()
    await rm(this.#folder, { recursive: true, force: true })
  }

  /** Lets go of the file; what has come stays. */
  async close(): Promise<void> {
    await this.#syncing.catch(() => {})
    const file = this.#file
    this.#file = undefined
    this.#hash = undefined
    await file?.close()
  }

  async #restart(): Promise<void> {
    await this.prepare()
    await this.#file!.truncate(0)
    this.#hash = createHash('sha256')
    this.#offset = 0
  }

  /** Beside the writing: only where the disk is too far behind does a write wait for it. */
  async #sync(bytes: number): Promise<void> {
    this.#unsynced += bytes
    if (this.#unsynced < UNSYNCED_MAX) return
    this.#unsynced = 0
    try {
      await this.#syncing
    } catch (error) {
      throw asContentError(error, this.#folder)
    }
    this.#syncing = this.#file!.datasync()
    this.#syncing.catch(() => {})
  }
}

async function writeAll(file: FileHandle, data: Uint8Array, offset: number): Promise<void> {
  let written = 0
  while (written < data.byteLength) {
    const { bytesWritten } = await file.write(data, written, data.byteLength - written, offset + written)
    written += bytesWritten
  }
}
