import { dirname } from 'node:path'
import type { Resident } from '../resident/resident.ts'
import type { StoredResource } from '../resident/shards.ts'
import type { Slot } from '../resident/slot.ts'
import { type SessionRequest, UnknownFormat } from '../store.ts'
import { FORMAT, unfinished } from './directory.ts'
import type { Disk, DiskFile } from './disk.ts'
import { completed, type SaidStoredPolicy } from './entry.ts'
import { type Damage, DamagedStore } from './errors.ts'
import { FRAME_HEADER, frameAt, frameOf, lengthIn } from './log-record.ts'

/*
 * A snapshot is a file of frames: one H, then S and R, and one E. The letter is the first character of the payload.
 *
 *   H  SnapshotHeader        S  a list of sessions        E  SnapshotEnd
 *   R  two lines for each resource: [namespace, resource, isActive, deadlineMs], and its text
 */

interface SnapshotHeader {
  readonly format: number
  /** Of the store; `undefined` if it has lost it. */
  readonly id: string | undefined
  /** The last change before it. */
  readonly nowMs: number
  readonly policy: SaidStoredPolicy
  readonly fenceFloors: readonly number[]
}

/** How much there is in it. Without it the end is missing. */
export interface SnapshotEnd {
  readonly sessions: number
  readonly resources: number
  readonly grants: number
  readonly waiters: number
}

interface SnapshotOptions {
  readonly disk: Disk
  readonly path: string
  readonly resident: Resident
  readonly header: Omit<SnapshotHeader, 'format' | 'fenceFloors'>
  /** Lets others have their turn. */
  readonly pause: () => Promise<void>
}

/** After so many resources, others have their turn: this takes half a millisecond. */
const TURN = 200
const SESSIONS_A_FRAME = 1_000
/** Characters of a frame with resources. */
const FRAME = 256 * 1024
const NEWLINE = 10

/**
 * Writes the state at the moment at which this is constructed, a little at a time, while the store goes on: a resource that is
 * about to change and has not been written yet is written first.
 */
export class SnapshotWriter {
  readonly #options: SnapshotOptions
  readonly #header: SnapshotHeader
  readonly #sessions: readonly SessionRequest[]
  readonly #end: SnapshotEnd
  readonly #generation: number
  /** Of the frame that is being filled. */
  #lines: string[] = []
  #length = 0
  /** Frames that are full and not written yet. */
  #full: Buffer[] = []
  #resources = 0
  #position = 0
  #isAborted = false

  constructor(options: SnapshotOptions) {
    const { resident, header } = options
    this.#options = options
    this.#generation = ++resident.shards.generation
    this.#header = { format: FORMAT, ...header, fenceFloors: resident.shards.fenceFloors }
    this.#sessions = resident.sessions.all()
    this.#end = { ...resident.counts(), sessions: this.#sessions.length }
    resident.beforeChange = (slot) => this.#keep(slot)
  }

  /** Nothing of it will be there. */
  abort(): void {
    this.#isAborted = true
  }

  /** Resolves with its size once it is durable under its name. `isCovered`: all that it was made of is durable without it. */
  async write(isCovered: Promise<void>): Promise<number> {
    const { disk, path, resident } = this.#options
    try {
      const file = await disk.open(unfinished(path), 'create')
      try {
        await this.#writeTo(file)
        await file.sync()
      } finally {
        await file.close()
      }
      // A step that is not durable yet may still fail. Then it must not be in a snapshot.
      await isCovered
      this.#goOn()
      await disk.rename(unfinished(path), path)
      await disk.syncDirectory(dirname(path))
      return this.#position
    } catch (error) {
      await disk.remove(unfinished(path)).catch(() => {})
      throw error
    } finally {
      resident.beforeChange = undefined
    }
  }

  async #writeTo(file: DiskFile): Promise<void> {
    const { resident, pause } = this.#options
    await this.#append(file, frameOf(`H${JSON.stringify(this.#header)}`))
    for (let from = 0; from < this.#sessions.length; from += SESSIONS_A_FRAME) {
      const some = this.#sessions.slice(from, from + SESSIONS_A_FRAME)
      const plain = some.map(({ session, node, ttlMs }) => ({ session, node, ttlMs }))
      await this.#append(file, frameOf(`S${JSON.stringify(plain)}`))
    }
    let seen = 0
    for (const slot of resident.shards.all()) {
      this.#keep(slot)
      if (++seen % TURN > 0) continue
      await pause()
      await this.#appendFull(file)
    }
    this.#endFrame()
    await this.#appendFull(file)
    if (this.#resources !== this.#end.resources) throw new Error('the snapshot lacks resources')
    await this.#append(file, frameOf(`E${JSON.stringify(this.#end)}`))
  }

  #keep(slot: Slot): void {
    if (slot.generation >= this.#generation) return
    slot.generation = this.#generation
    const { namespace, resource, isActive, text } = slot
    const deadlineMs = this.#options.resident.shards.deadlineMs(slot) ?? null
    const head = JSON.stringify([namespace, resource, isActive, deadlineMs])
    this.#lines.push(head, text)
    this.#length += head.length + text.length
    this.#resources++
    if (this.#length >= FRAME) this.#endFrame()
  }

  #endFrame(): void {
    if (this.#lines.length === 0) return
    this.#full.push(frameOf(`R${this.#lines.join('\n')}\n`))
    this.#lines = []
    this.#length = 0
  }

  async #appendFull(file: DiskFile): Promise<void> {
    while (this.#full.length > 0) await this.#append(file, this.#full.shift()!)
  }

  async #append(file: DiskFile, frame: Buffer): Promise<void> {
    this.#goOn()
    await file.write(frame, this.#position)
    this.#position += frame.length
  }

  #goOn(): void {
    if (this.#isAborted) throw new Error('the snapshot is no longer wanted')
  }
}

/** A snapshot on the disk, and how to speak of it. */
interface SnapshotFile {
  readonly file: DiskFile
  readonly directory: string
  readonly name: string
  /** What to do if it is damaged. Default: that of `DamagedStore`. */
  readonly remedy?: string
}

export interface SnapshotRead {
  readonly header: SnapshotHeader
  readonly end: SnapshotEnd
  readonly size: number
}

/** Reads a whole snapshot into an empty resident; without one, only checks it. Throws `DamagedStore`. */
export async function readSnapshot(snapshot: SnapshotFile, resident?: Resident): Promise<SnapshotRead> {
  const damaged = (offset: number, what: string) => damageOf(snapshot, { offset, what })
  const size = await snapshot.file.size()
  let header: SnapshotHeader | undefined
  let end: SnapshotEnd | undefined
  let [sessions, resources] = [0, 0]
  for await (const { payload, offset } of framesOf(snapshot, size)) {
    const kind = String.fromCharCode(payload[0]!)
    if ((kind === 'H') !== (header === undefined) || end) throw damaged(offset, 'its parts are not in their order')
    if (kind === 'H') {
      header = takeHeader(payload, snapshot, resident)
    } else if (kind === 'S') {
      const some: SessionRequest[] = JSON.parse(payload.toString('utf8', 1))
      sessions += some.length
      for (const session of some) resident?.sessions.open(session, 0)
    } else if (kind === 'R') {
      for (const resource of resourcesIn(payload)) {
        resources++
        resident?.shards.place(resource)
      }
    } else if (kind === 'E') {
      end = JSON.parse(payload.toString('utf8', 1)) as SnapshotEnd
    } else throw damaged(offset, 'it has a part that is unknown')
  }
  if (!header || !end) throw damaged(size, 'its end is missing')
  if (end.sessions !== sessions || end.resources !== resources) {
    const found = `${resources} resources and ${sessions} sessions`
    throw damaged(size, `it has ${found} of ${end.resources} and ${end.sessions}`)
  }
  return { header, end, size }
}

function damageOf({ directory, name: file, remedy }: SnapshotFile, damage: Omit<Damage, 'file'>): DamagedStore {
  return new DamagedStore({ directory, file, ...damage }, remedy)
}

function takeHeader(payload: Buffer, { name }: SnapshotFile, resident: Resident | undefined): SnapshotHeader {
  const header: SnapshotHeader = JSON.parse(payload.toString('utf8', 1))
  if (header.format !== FORMAT) throw new UnknownFormat(name, { found: header.format, known: FORMAT })
  if (resident) {
    resident.policy = completed(header.policy)
    resident.shards.raiseFenceFloors(header.fenceFloors)
  }
  return header
}

/** The texts are not parsed: that would take most of the time of a start. */
function* resourcesIn(payload: Buffer): Generator<StoredResource> {
  for (let at = 1; at < payload.length; ) {
    const headEnd = payload.indexOf(NEWLINE, at)
    const textEnd = payload.indexOf(NEWLINE, headEnd + 1)
    const [namespace, resource, isActive, deadlineMs] = JSON.parse(payload.toString('utf8', at, headEnd))
    const text = payload.toString('utf8', headEnd + 1, textEnd)
    yield { namespace, resource, isActive, deadlineMs: deadlineMs ?? undefined, text }
    at = textEnd + 1
  }
}

/** One at a time, so that no more than one is in memory. */
async function* framesOf(snapshot: SnapshotFile, size: number): AsyncGenerator<{ payload: Buffer; offset: number }> {
  const { file } = snapshot
  const header = Buffer.alloc(FRAME_HEADER)
  for (let offset = 0; offset < size; ) {
    await file.read(header, offset)
    const end = offset + FRAME_HEADER + (lengthIn(header) ?? Infinity)
    const bytes = end > size ? undefined : Buffer.allocUnsafe(end - offset)
    if (bytes) await file.read(bytes, offset)
    const frame = bytes && frameAt(bytes, 0)
    if (!frame) throw damageOf(snapshot, { offset, what: 'the content does not match its checksum' })
    yield { payload: frame.payload, offset }
    offset = end
  }
}
