import { type FileHandle, open } from 'node:fs/promises'
import type { ClientClock } from '@baton-lock/client/internal'
import type { Storage } from './storage.ts'
import type { FoundBlob } from './union.ts'

/** containerd asks for 32 KiB at a time, one after another: this much is read at once, and the next as much ahead. */
const WINDOW = 1024 * 1024
/** The window that is read, the one before it, and the one ahead. */
const WINDOWS_MAX = 3
const OPEN_MAX = 16
/** A file that is kept open is not gone from the disk when it is removed. */
const IDLE_MS = 5_000

interface OpenBlob {
  readonly digest: string
  readonly file: FileHandle
  readonly found: FoundBlob
  /** By where they begin, the newest last. */
  readonly windows: Map<number, Uint8Array | Promise<Uint8Array>>
  usedAtMs: number
}

interface ReadersOptions {
  readonly clock: ClientClock
  readonly storage: Storage
  /** Where a blob is; throws where it is not. */
  readonly locate: (digest: string) => Promise<FoundBlob>
}

/** Blobs that are being read: few files, few windows of each, however large they are. */
export class Readers {
  readonly #options: ReadersOptions
  readonly #open = new Map<string, Promise<OpenBlob>>()
  readonly #opened = new Map<string, OpenBlob>()
  #callOff: (() => void) | undefined

  constructor(options: ReadersOptions) {
    this.#options = options
  }

  /** Some bytes from there on, `length` at most and one at least; none at the end. */
  async read(digest: string, offset: number, length: number): Promise<Uint8Array> {
    const blob = await this.#blob(digest)
    if (offset >= blob.found.size) return new Uint8Array()
    const start = offset - (offset % WINDOW)
    const window = await this.#window(blob, start)
    this.#readAhead(blob, start)
    return window.subarray(offset - start, offset - start + length)
  }

  async sizeOf(digest: string): Promise<number> {
    return (await this.#blob(digest)).found.size
  }

  /** Nobody reads it any more: its file is closed when it can be. */
  forget(digest: string, only?: OpenBlob): void {
    if (only && this.#opened.get(digest) !== only) return
    const opening = this.#open.get(digest)
    this.#open.delete(digest)
    this.#opened.delete(digest)
    const closing = opening?.then(async ({ file, found, windows }) => {
      await Promise.allSettled(windows.values())
      // To close a file of a union that does not answer takes as long as it does not.
      if (found.isOwn) await file.close()
      else this.#options.storage.later(() => file.close())
    })
    closing?.catch(() => {})
  }

  close(): void {
    this.#callOff?.()
    for (const digest of this.#open.keys()) this.forget(digest)
  }

  async #blob(digest: string): Promise<OpenBlob> {
    const { clock } = this.#options
    const opening = this.#open.get(digest) ?? this.#begin(digest)
    const blob = await opening
    blob.usedAtMs = clock.monoMs()
    return blob
  }

  #begin(digest: string): Promise<OpenBlob> {
    const { clock, locate, storage } = this.#options
    const opening = (async () => {
      const found = await locate(digest)
      const opening = () => open(found.path, 'r')
      const file = await (found.isOwn ? opening() : storage.call(opening))
      return { digest, file, found, windows: new Map(), usedAtMs: clock.monoMs() }
    })()
    this.#open.set(digest, opening)
    opening.then(
      (blob) => this.#open.get(digest) === opening && this.#opened.set(digest, blob),
      () => this.#open.get(digest) === opening && this.#open.delete(digest),
    )
    if (this.#open.size > OPEN_MAX) this.#closeLeastUsed()
    this.#callOff ??= clock.after(IDLE_MS, () => this.#closeIdle())
    return opening
  }

  #window(blob: OpenBlob, start: number): Uint8Array | Promise<Uint8Array> {
    const known = blob.windows.get(start)
    if (known) return known
    const reading = this.#load(blob, start)
    blob.windows.set(start, reading)
    reading.then(
      (window) => blob.windows.set(start, window),
      () => {
        blob.windows.delete(start)
        // The union may have been mounted anew: the next read opens the file again.
        this.forget(blob.digest, blob)
      },
    )
    for (const oldest of blob.windows.keys()) {
      if (blob.windows.size <= WINDOWS_MAX) break
      blob.windows.delete(oldest)
    }
    return reading
  }

  #readAhead(blob: OpenBlob, start: number): void {
    const next = start + WINDOW
    if (next < blob.found.size && !blob.windows.has(next)) void this.#window(blob, next)
  }

  async #load({ file, found }: OpenBlob, start: number): Promise<Uint8Array> {
    const length = Math.min(WINDOW, found.size - start)
    const window = Buffer.allocUnsafe(length)
    let at = 0
    while (at < length) {
      const read = () => file.read(window, at, length - at, start + at)
      const { bytesRead } = await (found.isOwn ? read() : this.#options.storage.call(read))
      if (bytesRead === 0) throw new Error(`${found.path} has ended at ${start + at}, before its size`)
      at += bytesRead
    }
    return window
  }

  #closeLeastUsed(): void {
    const [least] = [...this.#opened].sort(([, one], [, other]) => one.usedAtMs - other.usedAtMs)
    if (least) this.forget(least[0])
  }

  #closeIdle(): void {
    const { clock } = this.#options
    const idleSinceMs = clock.monoMs() - IDLE_MS
    for (const [digest, { usedAtMs }] of this.#opened) if (usedAtMs <= idleSinceMs) this.forget(digest)
    this.#callOff = this.#open.size > 0 ? clock.after(IDLE_MS, () => this.#closeIdle()) : undefined
  }
}
