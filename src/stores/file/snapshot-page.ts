import type { ColdRecord } from '../resident/cold-records.ts'
import type { Slot } from '../resident/slot.ts'
import { FRAME_HEADER, seal } from './frame.ts'

/** What a snapshot says of a resource beside its name and text. */
interface SnapshotRecord {
  /** Of the resource id: says in which shard it belongs. */
  readonly hash: number
  readonly deadlineMs: number | undefined
}

const KIND = 'R'.charCodeAt(0)
/** Lengths of name and text, hash, deadline, and what is known of it without looking into its text. */
const HEAD = 4 + 4 + 4 + 8 + 1
const ACTIVE = 1
const RUNS_OUT = 2
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
    const { name } = slot
    const most = this.#size + HEAD + 3 * name.length + length
    if (most > this.#bytes.length) this.#bytes = Buffer.allocUnsafeSlow(most)
    const at = this.#size
    const bytes = this.#bytes
    const textAt = at + HEAD + bytes.write(name, at + HEAD)
    const end =
      textAt + (text === undefined ? slot.page.copy(bytes, textAt, slot.from, slot.to) : bytes.write(text, textAt))
    this.#head(at, {
      nameLength: textAt - at - HEAD,
      textLength: end - textAt,
      hash,
      deadlineMs: deadlineMs ?? Infinity,
      flags: (slot.isActive ? ACTIVE : 0) | (slot.runsOut ? RUNS_OUT : 0),
    })
    if (text === undefined) slot.setText(bytes, textAt, end)
    this.#size = end
  }

  /** One that nobody has asked for: its bytes as they are. Says where they stand now. */
  addCold({ page, nameFrom, from, to, hash, deadlineMs }: ColdRecord): { page: Buffer; nameFrom: number } {
    const at = this.#size
    if (at + HEAD + to - nameFrom > this.#bytes.length) this.#bytes = Buffer.allocUnsafeSlow(at + HEAD + to - nameFrom)
    page.copy(this.#bytes, at + HEAD, nameFrom, to)
    this.#head(at, { nameLength: from - nameFrom, textLength: to - from, hash, deadlineMs, flags: 0 })
    this.#size = at + HEAD + to - nameFrom
    return { page: this.#bytes, nameFrom: at + HEAD }
  }

  #head(
    at: number,
    {
      nameLength,
      textLength,
      hash,
      deadlineMs,
      flags,
    }: Record<'nameLength' | 'textLength' | 'hash' | 'deadlineMs' | 'flags', number>,
  ): void {
    this.#bytes.writeUInt32LE(nameLength, at)
    this.#bytes.writeUInt32LE(textLength, at + 4)
    this.#bytes.writeUInt32LE(hash, at + 8)
    this.#bytes.writeDoubleLE(deadlineMs, at + 12)
    this.#bytes[at + 20] = flags
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

/** One resource in a snapshot. It is not looked into until somebody asks for it. */
interface RecordRead {
  readonly hash: number
  readonly deadlineMs: number
  readonly nameFrom: number
  readonly isActive: boolean
  readonly runsOut: boolean
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
      nameFrom: at + HEAD,
      hash: payload.readUInt32LE(at + 8),
      deadlineMs,
      isActive: (payload[at + 20]! & ACTIVE) !== 0,
      runsOut: (payload[at + 20]! & RUNS_OUT) !== 0,
      from,
      to,
    }
    at = to
  }
}
