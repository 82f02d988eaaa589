import type { IncomingMessage, ServerResponse } from 'node:http'
import { sleep } from '../harness/link.ts'
import type { BlobFaults, BodyFault } from './blob-faults.ts'

interface BodyOptions {
  readonly from: IncomingMessage
  readonly to: ServerResponse
  readonly node: string
  readonly met: readonly BodyFault[]
  readonly faults: BlobFaults
  /** Where in the blob the body begins. */
  readonly startByte: number
  onSent(bytes: number): void
}

const THROTTLED_PIECES_PER_SECOND = 50

/** Carries the body of one answer, with the faults that meet it. Resolves when it has ended, however that was. */
export async function carryBody({ from, to, node, met, faults, startByte, onSent }: BodyOptions): Promise<void> {
  const gone = new Promise<void>((resolve) => (to.destroyed ? resolve() : to.once('close', resolve)))
  let atByte = startByte
  for await (const chunk of from as AsyncIterable<Buffer>) {
    for (let unsent = chunk; unsent.length > 0; ) {
      // A fault at this very byte comes first: then nothing of the blob has passed it.
      for (const fault of met) if (isAt(fault, atByte) && (await meet(fault, { to, node, gone }))) return
      const size = pieceSize({ unsent, atByte, met, bytesPerSecond: faults.bytesPerSecond })
      if (!(await sent(to, corrupted(unsent.subarray(0, size), atByte, met), gone))) return
      onSent(size)
      atByte += size
      unsent = unsent.subarray(size)
      if (faults.bytesPerSecond !== undefined) await sleep((size / faults.bytesPerSecond) * 1_000)
    }
  }
  to.end()
}

interface Place {
  readonly to: ServerResponse
  readonly node: string
  readonly gone: Promise<unknown>
}

/** Whether the body ends here. */
async function meet(fault: BodyFault, { to, node, gone }: Place): Promise<boolean> {
  if (fault.kind === 'hold') {
    await Promise.race([fault.passing(node), gone])
    return to.destroyed
  }
  if (fault.kind !== 'cut') return false
  if (fault.how === 'reset') to.socket?.resetAndDestroy()
  else to.socket?.end()
  return true
}

function isAt(fault: BodyFault, atByte: number): boolean {
  return fault.kind !== 'corrupt' && fault.atByte === atByte
}

/** Up to the next place where something happens. */
function pieceSize(at: {
  readonly unsent: Buffer
  readonly atByte: number
  readonly met: readonly BodyFault[]
  readonly bytesPerSecond: number | undefined
}): number {
  const stops = at.met.filter((fault) => fault.kind !== 'corrupt' && fault.atByte > at.atByte)
  const untilStops = stops.map((fault) => fault.atByte - at.atByte)
  const slow = at.bytesPerSecond === undefined ? [] : [Math.ceil(at.bytesPerSecond / THROTTLED_PIECES_PER_SECOND)]
  return Math.min(at.unsent.length, ...untilStops, ...slow)
}

function corrupted(piece: Buffer, atByte: number, met: readonly BodyFault[]): Buffer {
  const places = met.filter((fault) => fault.kind === 'corrupt').map((fault) => fault.atByte - atByte)
  const inside = places.filter((place) => place >= 0 && place < piece.length)
  if (inside.length === 0) return piece
  const changed = Buffer.from(piece)
  for (const place of inside) changed[place]! ^= 0xff
  return changed
}

/** Whether it has left: a client that is gone takes nothing. */
async function sent(to: ServerResponse, piece: Buffer, gone: Promise<unknown>): Promise<boolean> {
  const left = new Promise<void>((resolve) => to.write(piece, () => resolve()))
  await Promise.race([left, gone])
  return !to.destroyed
}
