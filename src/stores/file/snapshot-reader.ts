import type { Resident } from '../resident/resident.ts'
import { Slot } from '../resident/slot.ts'
import type { SessionRequest } from '../store.ts'
import type { DiskFile } from './disk.ts'
import { completed, FIRST_EDITION } from './entry.ts'
import type { Damage } from './errors.ts'
import { FRAME_HEADER, frameAt, lengthIn, nextFrame } from './frame.ts'
import { recordsIn } from './snapshot-page.ts'
import type { SnapshotEnd, SnapshotHeader } from './snapshot-writer.ts'

interface SnapshotRead {
  readonly header: SnapshotHeader | undefined
  readonly size: number
}

/**
 * Reads a snapshot into an empty resident. Damage is told, and if the listener does not throw, everything goes on behind
 * it: resources are independent of one another.
 */
export async function readSnapshot(
  file: DiskFile,
  resident: Resident,
  onDamage: (damage: Omit<Damage, 'file'>) => void,
): Promise<SnapshotRead> {
  const size = await file.size()
  const read: SnapshotEnd & { header?: SnapshotHeader; end?: SnapshotEnd } = { sessions: 0, resources: 0 }
  const state = { ...read }
  for await (const payload of payloadsOf(file, size, onDamage)) {
    switch (String.fromCharCode(payload[0]!)) {
      case 'H':
        state.header = JSON.parse(payload.toString('utf8', 1))
        resident.edition = state.header!.edition ?? FIRST_EDITION
        resident.policy = completed(state.header!.policy, resident.edition)
        resident.shards.raiseFenceFloors(state.header!.fenceFloors)
        break
      case 'S': {
        const sessions: SessionRequest[] = JSON.parse(payload.toString('utf8', 1))
        for (const session of sessions) resident.sessions.open(session, 0)
        state.sessions += sessions.length
        break
      }
      case 'R':
        state.resources += placeAll(payload, resident)
        break
      case 'E':
        state.end = JSON.parse(payload.toString('utf8', 1))
        break
      default:
        onDamage({ offset: size, what: 'it has a part that is unknown' })
    }
  }
  const { end } = state
  if (!state.header) onDamage({ offset: 0, what: 'its beginning is missing' })
  if (!end) onDamage({ offset: size, what: 'its end is missing' })
  else if (end.sessions !== state.sessions || end.resources !== state.resources) {
    const what = `it has ${state.resources} resources and ${state.sessions} sessions of ${end.resources} and ${end.sessions}`
    onDamage({ offset: size, what })
  }
  return { header: state.header, size }
}

function placeAll(payload: Buffer, resident: Resident): number {
  let count = 0
  for (const { nameFrom, from, to, hash, deadlineMs, isActive, runsOut } of recordsIn(payload)) {
    count++
    if (!isActive) {
      resident.shards.cold.add({ page: payload, nameFrom, from, to, hash, deadlineMs })
      continue
    }
    const slot = Slot.named(payload.toString('utf8', nameFrom, from), resident.shards.generation)
    slot.setText(payload, from, to)
    slot.isActive = isActive
    slot.runsOut = runsOut
    resident.shards.place({ slot, hash, deadlineMs: deadlineMs === Infinity ? undefined : deadlineMs })
  }
  return count
}

/** Frame by frame, so that no more than one of them is in memory. */
async function* payloadsOf(
  file: DiskFile,
  size: number,
  onDamage: (damage: Omit<Damage, 'file'>) => void,
): AsyncGenerator<Buffer> {
  const header = Buffer.alloc(FRAME_HEADER)
  for (let offset = 0; offset < size; ) {
    await file.read(header, offset)
    const length = lengthIn(header)
    const end = offset + FRAME_HEADER + (length ?? 0)
    const bytes = length === undefined || end > size ? undefined : Buffer.allocUnsafe(end - offset)
    if (bytes) await file.read(bytes, offset)
    const frame = bytes && frameAt(bytes, 0)
    if (frame) {
      yield frame.payload
      offset = end
      continue
    }
    onDamage({ offset, what: 'what is there is not what was written' })
    const remaining = Buffer.allocUnsafe(size - offset)
    await file.read(remaining, offset)
    const next = nextFrame(remaining, 1)
    if (!next) return
    offset += next.offset
  }
}
