import { beforeAll, expect, test } from 'vitest'
import { exampleCases, fiftyAsks, withRuns } from './example-cases.ts'
import { endWell, openDay } from './example-runs.ts'
import { fileStores, serve } from './file-server.ts'

const { newDirectory } = fileStores()

/* The programs of `examples/` on a server with a file store. */
let url: string
beforeAll(async () => {
  url = (await serve(newDirectory())).url
})

exampleCases(() => url)

test.concurrent('cache fill: with --result-limit raised, 49 of fifty asks are told all of the 17 KB', async () => {
  const raised = await serve(newDirectory(), '0', ['--result-limit', '32KiB'])
  await withRuns(raised.url, async (where) => {
    await fiftyAsks(where)
    expect(where.runs.notes('read cache')).toEqual([])
  })
})

test.concurrent('cacheable without a second level: one process loads a day, and the others are told', () =>
  withRuns(url, async ({ baton, runs }) => {
    for (const day of [1, 2]) {
      const gate = await openDay(baton, { operation: 'once', resource: 'cache:prices' })
      const processes = runs.startThree('cacheable-prices', { ASKS: '10', KEEP_MS: '2000' })
      await gate.begin(3)
      await endWell(processes)
      expect(runs.notes('load')).toHaveLength(day)
      expect(runs.notes('answer').map(({ bytes }) => bytes)).toEqual(Array(30 * day).fill(100))
    }
  }))
