import { checkFormat, writeFormat } from './directory.ts'
import type { Disk } from './disk.ts'
import { locked } from './maintenance.ts'
import { nodeDisk } from './node-disk.ts'
import { readStore } from './read-store.ts'
import { writeReserved } from './reserved-fences.ts'

/** As many grants of one resource as would take a day at 50,000 a second; two million such raises fit into what a fence can be. */
const RAISE_BY = 2 ** 32
/** A raise leaves at least half of all fences to be granted. */
const HIGHEST = 2 ** 52

/** For a store that was restored from a copy: fences go on above those that were granted since it was made. Says what was done. */
export async function raiseFences(
  directory: string,
  { by = RAISE_BY, disk = nodeDisk() }: { readonly by?: number; readonly disk?: Disk } = {},
): Promise<readonly string[]> {
  return locked(disk, directory, async () => {
    const isMarked = await checkFormat(disk, directory, { mayBeNew: false })
    const { resident, reserved } = await readStore({ disk, directory })
    const highest = Math.max(resident.shards.highestFence(), reserved?.upTo ?? 0)
    const upTo = highest + by
    if (upTo > HIGHEST) {
      throw new Error(
        `fences of ${directory} would begin at ${upTo}, and above ${HIGHEST} they are not raised: choose less with --by`,
      )
    }
    await writeReserved(disk, directory, { upTo })
    if (!isMarked) await writeFormat(disk, directory)
    return [`fences of ${directory} go on above ${upTo}, from the next start on; none above ${highest} was known of`]
  })
}
