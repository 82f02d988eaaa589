import { StoreUnavailable } from '@baton-lock/store/store'
import { isStill } from '../transaction/comparisons.ts'
import { resourceFrom } from '../transaction/document.ts'
import { foundIn } from '../transaction/found.ts'
import { noStore } from './check.ts'
import { knownMeta } from './store-state.ts'
import { onceOn } from './with-etcd.ts'

/** More than any store grants between two backups. */
const FAR = 2 ** 40
/** A raise leaves at least half of all fences to be granted. */
const HIGHEST = 2 ** 52
const PAGE = 500

/**
 * For a store that was restored from a snapshot of etcd, whose revisions have gone back with it: fences go on so far above
 * all that are known of. Says what was done.
 */
export async function raiseFences(url: string, by = FAR): Promise<string> {
  return onceOn(url, async ({ etcd, keys }) => {
    for (;;) {
      const read = await etcd.txn({ compare: [], success: [{ range: { key: keys.meta } }] })
      const [kv] = foundIn(read.outcomes[0]).kvs
      if (!kv) throw noStore(keys.prefix)
      const meta = knownMeta(kv.value, keys)
      let highest = Math.max(meta.floor, read.revision)
      const { key: first, end } = keys.resources
      for (let key = first; ; ) {
        const { outcomes } = await etcd.txn({ compare: [], success: [{ range: { key, end: end!, limit: PAGE } }] })
        const { kvs } = foundIn(outcomes[0])
        for (const { value } of kvs) highest = Math.max(highest, resourceFrom(value).fence)
        if (kvs.length < PAGE) break
        key = `${kvs.at(-1)!.key}\0`
      }
      const floor = highest + by
      if (floor > HIGHEST)
        throw new StoreUnavailable(
          `fences would begin at ${floor}, and above ${HIGHEST} they are not raised: choose less with --by`,
        )
      const { succeeded } = await etcd.txn({
        compare: [isStill(kv)],
        success: [{ put: { key: keys.meta, value: JSON.stringify({ ...meta, floor }) } }],
      })
      if (succeeded) return `fences go on above ${floor}; none above ${highest} was known of`
    }
  })
}
