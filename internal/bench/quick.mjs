// The main questions in a minute, each by its own script with short rounds: to see where things stand, not to quote.
import { measure as classic } from './classic.mjs'
import { measure as fanOut } from './fan-out.mjs'
import { measure as handOver } from './hand-over.mjs'
import { measure as peers } from './peers.mjs'
import { measure as start } from './start.mjs'

export const title = 'The main questions, in a minute'

export async function measure({ rounds = 3, seconds = 1 }) {
  const results = [
    await peers({ rounds, seconds }),
    await classic({ rounds, seconds }),
    await handOver({ rounds, times: 40 }),
    await fanOut({ rounds }),
    await start({ rounds }),
  ]
  return { rows: results.flatMap(({ rows }) => rows), notes: results.flatMap(({ notes = [] }) => notes) }
}
