// needs: mariadb
import { type Mariadb, startMariadb } from '@baton-lock/faults/harness/mariadb'
import KeyvMysql from '@keyv/mysql'
import { Cacheable } from 'cacheable'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { killRest, baton as runCommand } from './cli-process.ts'
import { exampleCases, fiftyAsks, withRuns } from './example-cases.ts'
import { endWell, openDay } from './example-runs.ts'

/* The programs of `examples/` without a server: they meet in a database. */
let mariadb: Mariadb
let url: string
beforeAll(async () => {
  mariadb = await startMariadb()
  url = await mariadb.createDatabase('locks')
  expect((await runCommand(['store', 'create', url])).code).toBe(0)
}, 120_000)
afterAll(async () => {
  killRest()
  await mariadb.stop()
})

// That it is done again the next day is shown with a server.
exampleCases(() => url, { days: 1 })

test.concurrent('cache fill: with the limit raised, 49 of fifty asks are told all of the 17 KB', () =>
  withRuns(url, async (where) => {
    await fiftyAsks(where, { RESULT_LIMIT: '32768' })
    expect(where.runs.notes('read cache')).toEqual([])
  }))

const LARGE = 17 * 1024

test.concurrent('cacheable with a second level in MySQL: one process loads 17 KB, the others read it there', () =>
  withRuns(url, async ({ baton, runs }) => {
    const gate = await openDay(baton, { operation: 'once', resource: 'cache:prices' })
    const env = { CACHE_URL: await mariadb.createDatabase('cache'), ASKS: '10', BYTES: `${LARGE}` }
    const processes = runs.startThree('cacheable-prices', env)
    await gate.begin(3)
    await endWell(processes)
    // Nothing is kept by Baton: whoever comes later finds it in the second level.
    await endWell([runs.start('cacheable-prices', 'd', env)])
    expect(runs.notes('load')).toHaveLength(1)
    expect(runs.notes('answer').map(({ bytes }) => bytes)).toEqual(Array(40).fill(LARGE))
  }))

test.concurrent('cacheable: what came into the second level while a process waited is not loaded again', () =>
  withRuns(url, async ({ baton, runs }) => {
    const gate = await openDay(baton, { operation: 'once', resource: 'cache:prices' })
    const cacheUrl = await mariadb.createDatabase('filled')
    const processes = runs.startThree('cacheable-prices', { CACHE_URL: cacheUrl, BYTES: '1' })
    const cache = new Cacheable({ secondary: new KeyvMysql(cacheUrl) })
    await gate.begin(3, () => cache.set('prices', 'x'.repeat(LARGE)))
    await endWell(processes)
    await cache.disconnect()
    expect(runs.notes().map(({ did, bytes }) => `${did} ${bytes}`)).toEqual(Array(3).fill(`answer ${LARGE}`))
  }))
