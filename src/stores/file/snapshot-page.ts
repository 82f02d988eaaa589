import type { Slot } from '../slot.ts'
import { FRAME_HEADER, seal } from './frame.ts'

/** What a snapshot says of a resource beside its name and text. */
export interface SnapshotRecord {
  /** Of the resource id: says in which shard it belongs. */
  readonly hash: number
  readonly deadlineMs: number | undefined
}

const KIND = 'R'.charCodeAt(0)
/** Lengths of name and text, hash, deadline, whether it is active. */
const HEAD = 4 + 4 + 4 + 8 + 1
const PAGE = 512 * 1024
const START = FRAME_HEADER + 1

/**
 * Resources on their way to a snapshot: one frame. The texts of those that sleep move into it: so they stand close together
 * again after every snapshot, and the pages where they were are free.
 */
export class SnapshotPage {
  #bytes = Buffer.allocUnsafeSlow(PAGE)
  #size = START

  get isEmpty(): boolean {
    return this.#size === START
  }

  /** Whether there is room for so many characters; always where there is nothing yet. */
  fits(characters: number): boolean {
    return this.isEmpty || this.#size + HEAD + 3 * characters <= this.#bytes.length
  }

  /** `text`: of one that is live; one that sleeps has it already. */
  add(slot: Slot, { hash, deadlineMs }: SnapshotRecord, text: string | undefined): void {
    const length = text === undefined ? slot.to - slot.from : 3 * text.length
    const most = this.#size + HEAD + 3 * slot.name.length + length
    if (most > this.#bytes.length) this.#bytes = Buffer.allocUnsafeSlow(most)
    const at = this.#size
    const bytes = this.#bytes
    const textAt = at + HEAD + bytes.write(slot.name, at + HEAD)
    const end =
      textAt + (text === undefined ? slot.page.copy(bytes, textAt, slot.from, slot.to) : bytes.write(text, textAt))
    bytes.writeUInt32LE(textAt - at - HEAD, at)
    bytes.writeUInt32LE(end - textAt, at + 4)
    bytes.writeUInt32LE(hash, at + 8)
    bytes.writeDoubleLE(deadlineMs ?? Infinity, at + 12)
    bytes[at + 20] = slot.isActive ? 1 : 0
    if (text === undefined) slot.setText(bytes, textAt, end)
    this.#size = end
  }

  /** The frame; the page is empty again. */
  take(): Buffer {
    const frame = this.#bytes.subarray(0, this.#size)
    frame[FRAME_HEADER] = KIND
    this.#bytes = Buffer.allocUnsafeSlow(PAGE)
    this.#size = START
    return seal(frame)
  }
}

/** One resource in a snapshot. Its text is not looked into until somebody asks for it. */
export interface RecordRead extends SnapshotRecord {
  readonly name: string
  readonly isActive: boolean
  /** Where in the payload its text stands. */
  readonly from: number
  readonly to: number
}

export function* recordsIn(payload: Buffer): Generator<RecordRead> {
  for (let at = 1; at < payload.length; ) {
    const from = at + HEAD + payload.readUInt32LE(at)
    const to = from + payload.readUInt32LE(at + 4)
    const deadlineMs = payload.readDoubleLE(at + 12)
    yield {
      name: payload.toString('utf8', at + HEAD, from),
      hash: payload.readUInt32LE(at + 8),
      deadlineMs: deadlineMs === Infinity ? undefined : deadlineMs,
      isActive: payload[at + 20] === 1,
      from,
      to,
    }
    at = to
  }
}
