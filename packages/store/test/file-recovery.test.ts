import { SimulatedDisk, type Tear } from '@baton-lock/faults/simulated-disk'
import { describe, expect, test } from 'vitest'
import { type Random, SimulatedClock, seededRandom, settled } from '../src/conformance/index.ts'
import { contentsOf } from '../src/file/directory.ts'
import { readReserved } from '../src/file/fences.ts'
import { type Call, Caller, callResident, callStore, DIRECTORY, fold, openOn, prefixOf } from './file-world.ts'

const LIVES = 4
const SEEDS = Number(process.env.FILE_STORE_SEEDS ?? 20)

/** What a crash may leave of what was not synced: nothing, all, or the first bytes of the last write. */
function anyTear(random: Random): Tear {
  const how = random.pick(['nothing', 'all', 'torn'] as const)
  return ({ length }) => (how === 'nothing' ? 0 : how === 'all' ? length : random.integer(length + 1))
}

/**
 * One life of a process: calls, several at a time, until the power goes. Of the calls so far, `sure` are known to be on
 * the disk; all of them are once it has been opened. Returns how many are surely kept.
 */
async function live(
  disk: SimulatedDisk,
  { calls, sure, random, clock }: { calls: Call[]; sure: number; random: Random; clock: SimulatedClock },
): Promise<number> {
  let acknowledged = sure
  // No life was ever closed: what may have been granted in it is passed over.
  const restart: Call = { do: 'restart', nowMs: clock.nowMs(), fenceFloor: await reservedOn(disk) }
  disk.offAfter = disk.operations + 5 + random.integer(400)
  // Between two frames of a snapshot, resources change.
  disk.beforeWrite = (path) => (path.includes('snapshot-') ? turns(random.integer(4)) : undefined)
  const opening = openOn(disk, { clock })
  const store = await Promise.race([opening, untilOff(disk)])
  // A power cut while it starts may come before or after its first entry: both are good.
  calls.push(restart)
  if (!store) return acknowledged
  acknowledged = calls.length
  const present = fold(calls)
  const caller = new Caller(random, present)
  while (!disk.isOff && calls.length < 2_000) {
    for (let together = random.integer(6); together >= 0; together--) {
      clock.jump(random.pick([0, 0, 1, 50, 700]))
      const call = caller.next(clock.nowMs())
      const count = calls.push(call)
      callResident(present, call)
      void callStore(store, call).then(() => {
        acknowledged = Math.max(acknowledged, count)
      })
    }
    await settled()
  }
  disk.turnOff()
  await settled()
  return acknowledged
}

async function turns(count: number): Promise<void> {
  for (let left = count; left > 0; left--) await settled()
}

async function reservedOn(disk: SimulatedDisk): Promise<number> {
  await disk.makeDirectory(DIRECTORY)
  const { hasFences } = await contentsOf(disk, DIRECTORY)
  return hasFences ? (await readReserved(disk, DIRECTORY))!.upTo : 0
}

async function untilOff(disk: SimulatedDisk): Promise<undefined> {
  while (!disk.isOff) await settled()
}

describe('recovery', () => {
  test('after a crash at any point the state is that of a prefix with everything that was acknowledged', async () => {
    let lost = 0
    let snapshots = 0
    for (let seed = 1; seed <= SEEDS; seed++) {
      const random = seededRandom(seed)
      const clock = new SimulatedClock()
      const calls: Call[] = []
      let disk = new SimulatedDisk()
      let sure = 0
      for (let life = 1; life <= LIVES; life++) {
        const acknowledged = await live(disk, { calls, sure, random, clock })
        const isKill = random.chance(0.3)
        disk = isKill ? disk.afterKill() : disk.afterCrash(anyTear(random))
        snapshots += (await disk.list('/store')).filter((name) => name.startsWith('snapshot')).length
        const kept = await prefixOf(disk, calls, { atLeast: acknowledged })
        expect(
          kept,
          `seed ${seed}, life ${life}: no prefix from ${acknowledged} of ${calls.length} is on the disk`,
        ).toBeGreaterThanOrEqual(0)
        lost += calls.length - kept
        calls.splice(kept)
        // What only the process has left behind may still go with the power.
        sure = isKill ? Math.min(acknowledged, kept) : kept
        clock.jump(random.pick([0, 10, 5_000]))
      }
    }
    // It was worth something only if crashes did take unacknowledged calls with them, and met snapshots.
    expect(lost).toBeGreaterThan(0)
    expect(snapshots).toBeGreaterThan(SEEDS / 4)
  }, 120_000)
})
