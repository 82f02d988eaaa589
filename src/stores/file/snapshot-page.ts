import { newFrame, seal } from './frame.ts'

/** One resource in a snapshot. Its text is not looked into until somebody asks for it. */
export interface SnapshotRecord {
  readonly name: string
  readonly text: string
  /** Of the resource id: says in which shard it belongs. */
  readonly hash: number
  readonly deadlineMs: number | undefined
  readonly isActive: boolean
}

const KIND = 'R'.charCodeAt(0)
/** Lengths of name and text, hash, deadline, whether it is active. */
const HEAD = 4 + 4 + 4 + 8 + 1
const PAGE = 512 * 1024

/** Resources on their way to a snapshot: one frame. */
export class SnapshotPage {
  #bytes = Buffer.allocUnsafe(PAGE)
  #size = 0

  get size(): number {
    return this.#size
  }

  fits({ name, text }: SnapshotRecord): boolean {
    // Three bytes a character at most; a page that is not quite full does no harm.
    return this.#size === 0 || this.#size + HEAD + 3 * (name.length + text.length) <= this.#bytes.length
  }

  add({ name, text, hash, deadlineMs, isActive }: SnapshotRecord): void {
    const most = this.#size + HEAD + 3 * (name.length + text.length)
    if (most > this.#bytes.length) this.#bytes = Buffer.allocUnsafe(most)
    const at = this.#size
    const nameLength = this.#bytes.write(name, at + HEAD)
    const textLength = this.#bytes.write(text, at + HEAD + nameLength)
    this.#bytes.writeUInt32LE(nameLength, at)
    this.#bytes.writeUInt32LE(textLength, at + 4)
    this.#bytes.writeUInt32LE(hash, at + 8)
    this.#bytes.writeDoubleLE(deadlineMs ?? Infinity, at + 12)
    this.#bytes[at + 20] = isActive ? 1 : 0
    this.#size = at + HEAD + nameLength + textLength
  }

  /** The frame; the page is empty again. */
  take(): Buffer {
    const { frame, payload } = newFrame(1 + this.#size)
    payload[0] = KIND
    this.#bytes.copy(payload, 1, 0, this.#size)
    this.#size = 0
    if (this.#bytes.length > PAGE) this.#bytes = Buffer.allocUnsafe(PAGE)
    return seal(frame)
  }
}

export function* recordsIn(payload: Buffer): Generator<SnapshotRecord> {
  for (let at = 1; at < payload.length; ) {
    const nameEnd = at + HEAD + payload.readUInt32LE(at)
    const textEnd = nameEnd + payload.readUInt32LE(at + 4)
    const deadlineMs = payload.readDoubleLE(at + 12)
    yield {
      name: payload.toString('utf8', at + HEAD, nameEnd),
      text: payload.toString('utf8', nameEnd, textEnd),
      hash: payload.readUInt32LE(at + 8),
      deadlineMs: deadlineMs === Infinity ? undefined : deadlineMs,
      isActive: payload[at + 20] === 1,
    }
    at = textEnd
  }
}
