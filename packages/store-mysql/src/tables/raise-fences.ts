import { StoreUnavailable } from '@baton-lock/store/store'
import { query } from '../connection/packet.ts'
import { GENERATION_FENCES, refuseUnfit } from '../connection/server.ts'
import { onceOn } from '../connection/start.ts'
import { createTables } from './create-tables.ts'

/** A raise leaves at least half of all fences to be granted. */
const HIGHEST = 2 ** 52

/**
 * For tables that were restored from a copy: fences go on in a generation that is so far above all that are known of, as
 * where another server takes over. Says what was done.
 */
export async function raiseFences(url: string, by = GENERATION_FENCES): Promise<string> {
  return onceOn(url, async (connection) => {
    await refuseUnfit(connection)
    await createTables(connection)
    await query(connection, 'START TRANSACTION')
    const known = `SELECT generation, GREATEST((SELECT MAX(fence_floor) FROM baton_shards),
      (SELECT COALESCE(MAX(fence), 0) FROM baton_resources)) AS highest FROM baton_store WHERE id = 1 FOR UPDATE`
    const [{ generation, highest }] = await query(connection, known)
    const begun = Math.max(generation, Math.floor(highest / GENERATION_FENCES))
    const next = begun + Math.max(1, Math.ceil(by / GENERATION_FENCES))
    const upTo = next * GENERATION_FENCES
    if (upTo > HIGHEST) {
      throw new StoreUnavailable(
        `fences would begin at ${upTo}, and above ${HIGHEST} they are not raised: choose less with --by`,
      )
    }
    await query(connection, 'UPDATE baton_store SET generation = ? WHERE id = 1', next)
    await query(connection, 'UPDATE baton_shards SET fence_floor = ?', upTo)
    await query(connection, 'COMMIT')
    return `fences go on above ${upTo}; none above ${highest} was known of`
  })
}
