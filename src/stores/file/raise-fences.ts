import { checkFormat, writeFormat } from './directory.ts'
import type { Disk } from './disk.ts'
import { locked } from './maintenance.ts'
import { nodeDisk } from './node-disk.ts'
import { readStore, type StoreRead } from './read-store.ts'
import { writeReserved } from './reserved-fences.ts'

/** As many grants of one resource as would take a day at 50,000 a second; two million such raises fit into what a fence can be. */
const RAISE_BY = 2 ** 32
/** A raise leaves at least half of all fences to be granted. */
const HIGHEST = 2 ** 52

/** For a store that was restored from a copy: fences go on above those that were granted since it was made. Says what was done. */
export async function raiseFences(
  directory: string,
  { by, disk = nodeDisk() }: { readonly by?: number; readonly disk?: Disk } = {},
): Promise<readonly string[]> {
  return locked(disk, directory, async () => {
    const isMarked = await checkFormat(disk, directory, { mayBeNew: false })
    const { highest, upTo } = raisedFences(await readStore({ disk, directory }), { directory, by })
    await writeReserved(disk, directory, { upTo })
    if (!isMarked) await writeFormat(disk, directory)
    return [`fences of ${directory} go on above ${upTo}, from the next start on; none above ${highest} was known of`]
  })
}

/** Up to where fences of a store may have been granted, and where they go on if they are raised. */
export function raisedFences(
  { resident, reserved }: Pick<StoreRead, 'resident' | 'reserved'>,
  { directory, by = RAISE_BY }: { readonly directory: string; readonly by?: number | undefined },
): { readonly highest: number; readonly upTo: number } {
  const highest = Math.max(resident.shards.highestFence(), reserved?.upTo ?? 0)
  const upTo = highest + by
  if (upTo <= HIGHEST) return { highest, upTo }
  throw new Error(
    `fences of ${directory} would begin at ${upTo}, and above ${HIGHEST} they are not raised: choose less with --by`,
  )
}
