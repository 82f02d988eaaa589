import { join } from 'node:path'
import { FENCES_FILE, writeWhole } from './directory.ts'
import { type Disk, readAll } from './disk.ts'
import { frameAt, frameOf } from './frame.ts'

/** Where logs end, by their numbers; empty ones are not among them. */
export type LogEnds = readonly (readonly [number: number, end: number])[]

/**
 * What is known of the fences apart from the log, for the case that the log has lost its end. It is written before any fence
 * above it, for many of them at a time.
 */
export interface ReservedFences {
  /** No higher one has been granted. */
  readonly upTo: number
  /** Where the logs ended when the store was closed; absent while it is open, and so after a crash. */
  readonly closedAt?: LogEnds
}

/** So many at a time: a hundred thousand grants a second of one resource would wait for it twice a second. */
export const FENCE_BLOCK = 65_536

export function endsOf(logs: readonly { readonly number: number; readonly end: number }[]): LogEnds {
  return logs.filter(({ end }) => end > 0).map(({ number, end }) => [number, end] as const)
}

export function isSameEnds(some: LogEnds, others: LogEnds): boolean {
  return JSON.stringify(some) === JSON.stringify(others)
}

/** Nothing where the file is not what was written. */
export async function readReserved(disk: Disk, directory: string): Promise<ReservedFences | undefined> {
  const file = await disk.open(join(directory, FENCES_FILE), 'read')
  try {
    const frame = frameAt(await readAll(file), 0)
    return frame && JSON.parse(frame.payload.toString())
  } finally {
    await file.close()
  }
}

export async function writeReserved(disk: Disk, directory: string, reserved: ReservedFences): Promise<void> {
  await writeWhole(disk, directory, { name: FENCES_FILE, bytes: frameOf(JSON.stringify(reserved)) })
}

interface FenceReserveOptions {
  readonly disk: Disk
  readonly directory: string
  readonly upTo: number
  readonly block: number
}

/** The fences that may be granted without a further word to the disk. */
export class FenceReserve {
  readonly #options: FenceReserveOptions
  #upTo: number

  constructor(options: FenceReserveOptions) {
    this.#options = options
    this.#upTo = options.upTo
  }

  /** Settles when nobody will be granted this fence once more, whatever becomes of the log; nothing where that is so already. */
  cover(fence: number): Promise<void> | undefined {
    return fence <= this.#upTo ? undefined : this.#reserve(fence)
  }

  async close(closedAt: LogEnds): Promise<void> {
    const { disk, directory } = this.#options
    await writeReserved(disk, directory, { upTo: this.#upTo, closedAt })
  }

  async #reserve(fence: number): Promise<void> {
    const { disk, directory, block } = this.#options
    const upTo = Math.min(fence + block, Number.MAX_SAFE_INTEGER)
    await writeReserved(disk, directory, { upTo })
    this.#upTo = upTo
  }
}
