import { fileURLToPath } from 'node:url'
import { runProgram } from 'baton-lock/program'
import { openStore, rowOf } from 'baton-lock/store-table'
import { openServerHistory } from './history/server-history.ts'

/*
 * The command line with two hooks for tests. `BATON_HISTORY=FILE` appends everything that the store of a server does to FILE, a
 * line of JSON each, for `checkHistory`. `BATON_TEST_NO_SYNC=1` does not sync the file store, so that a test can show that it
 * would notice.
 */
await runProgram({
  entry: fileURLToPath(import.meta.url),
  async openStore(url, options) {
    const sync = process.env.BATON_TEST_NO_SYNC === undefined
    const path = process.env.BATON_HISTORY
    if (!path) return openStore(url, { ...options, sync })
    const history = openServerHistory(path, () => options.clock.nowMs())
    const store = await openStore(url, { ...options, sync, onStep: history.onStep })
    return history.of(store, { answers: rowOf(url).isShared })
  },
})
