import { join } from 'node:path'
import { hashOf } from '../address.ts'
import type { Resident } from '../resident/resident.ts'
import type { Slot } from '../resident/slot.ts'
import type { SessionRequest } from '../store.ts'
import { snapshotName, unfinished } from './directory.ts'
import type { Disk, DiskFile } from './disk.ts'
import type { StoredPolicy } from './entry.ts'
import { frameOf } from './frame.ts'
import { SnapshotPage } from './snapshot-page.ts'

export interface SnapshotHeader {
  readonly nowMs: number
  readonly policy: StoredPolicy
  readonly fenceFloors: readonly number[]
  /** Of the rules, for the log that begins here. */
  readonly edition?: number
}

export interface SnapshotEnd {
  readonly sessions: number
  readonly resources: number
}

interface SnapshotOptions {
  readonly disk: Disk
  readonly directory: string
  readonly number: number
  readonly resident: Resident
  readonly header: Omit<SnapshotHeader, 'fenceFloors' | 'edition'>
  /** Lets others have their turn. */
  readonly pause: () => Promise<void>
}

/** So many resources are written in one turn. */
const TURN = 200
/** Of those that are only copied, so many. */
const COLD_TURN = 2_000
const SESSIONS_A_FRAME = 1_000

/**
 * Writes down how everything is at the moment at which this is made, a little at a time, while everything goes on: what
 * is about to change and has not been written yet is written first.
 */
export class SnapshotWriter {
  readonly #options: SnapshotOptions
  readonly #header: SnapshotHeader
  readonly #sessions: readonly SessionRequest[]
  readonly #generation: number
  #page = new SnapshotPage()
  /** Pages that are full and not yet on their way. */
  #full: Buffer[] = []
  #resources = 0
  #position = 0
  #isAborted = false

  constructor(options: SnapshotOptions) {
    const { resident, header } = options
    this.#options = options
    this.#generation = ++resident.shards.generation
    resident.shards.coldWritten = 0
    this.#header = { ...header, fenceFloors: resident.shards.fenceFloors, edition: resident.edition }
    this.#sessions = resident.sessions.all()
    resident.beforeChange = (slot) => this.#keep(slot)
  }

  /** Nothing of it will be there. */
  abort(): void {
    this.#isAborted = true
  }

  /** Resolves with its size once it is there for good. `isCovered`: all that it is made of is durable by itself. */
  async write(isCovered: Promise<void>): Promise<number> {
    const { disk, directory, number, resident } = this.#options
    const path = join(directory, snapshotName(number))
    try {
      const file = await disk.open(unfinished(path), 'create')
      try {
        await this.#writeTo(file)
        await file.sync()
      } finally {
        await file.close()
      }
      // Nobody has been told yet of what is not durable, and it may still fail: it must not come back from here.
      await isCovered
      this.#goOn()
      await disk.rename(unfinished(path), path)
      await disk.syncDirectory(directory)
      return this.#position
    } catch (error) {
      await disk.remove(unfinished(path)).catch(() => {})
      throw error
    } finally {
      resident.beforeChange = undefined
    }
  }

  async #writeTo(file: DiskFile): Promise<void> {
    await this.#append(file, frameOf(`H${JSON.stringify(this.#header)}`))
    for (let from = 0; from < this.#sessions.length; from += SESSIONS_A_FRAME) {
      const some = this.#sessions.slice(from, from + SESSIONS_A_FRAME)
      const plain = some.map(({ session, node, ttlMs }) => ({ session, node, ttlMs }))
      await this.#append(file, frameOf(`S${JSON.stringify(plain)}`))
    }
    await this.#writeCold(file)
    let written = 0
    for (const slot of this.#options.resident.shards.slots()) {
      if (this.#keep(slot)) written++
      if (written < TURN) continue
      written = 0
      await this.#options.pause()
      await this.#appendFull(file)
    }
    if (!this.#page.isEmpty) this.#full.push(this.#page.take())
    await this.#appendFull(file)
    const end: SnapshotEnd = { sessions: this.#sessions.length, resources: this.#resources }
    await this.#append(file, frameOf(`E${JSON.stringify(end)}`))
  }

  /** These first: one that is asked for meanwhile is met among the others, unless it has been written here. */
  async #writeCold(file: DiskFile): Promise<void> {
    const { shards } = this.#options.resident
    for (shards.coldWritten = 0; shards.coldWritten < shards.cold.count; shards.coldWritten++) {
      const index = shards.coldWritten
      if (index % COLD_TURN === 0) {
        await this.#options.pause()
        await this.#appendFull(file)
      }
      if (!shards.cold.isThere(index)) continue
      const record = shards.cold.recordOf(index)
      if (!this.#page.fits(record.to - record.nameFrom)) this.#full.push(this.#page.take())
      shards.cold.move(index, this.#page.addCold(record))
      this.#resources++
    }
  }

  #keep(slot: Slot): boolean {
    if (slot.generation >= this.#generation) return false
    slot.generation = this.#generation
    const { shards } = this.#options.resident
    const text = slot.live && shards.textOf(slot)
    if (!this.#page.fits(slot.name.length + (text?.length ?? slot.to - slot.from))) this.#full.push(this.#page.take())
    this.#page.add(slot, { hash: hashOf(slot.resource), deadlineMs: shards.deadlineMs(slot) }, text)
    this.#resources++
    return true
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
