import { connect } from '@baton-lock/client'
import { afterAll, expect, test } from 'vitest'
import { killRest, startServer, until } from '../e2e/cli-process.ts'

afterAll(() => killRest())

test.each([200, 1_000, 5_000])('no server at all: a wait limit of %d ms is used to its end', async (waitMs) => {
  const gone = await startServer()
  await gone.stop()
  const baton = await connect(gone.url, { node: 'a', onNotice: () => {} })
  const startMs = performance.now()
  const end = await baton.lock('l', () => expect.unreachable(), { waitMs }).catch(({ code }) => code)
  const tookMs = performance.now() - startMs
  console.log(`waitMs ${waitMs}: back after ${tookMs.toFixed(0)} ms`)
  expect(end).toBe('unavailable')
  expect(tookMs).toBeGreaterThan(waitMs - 30)
  expect(tookMs).toBeLessThan(waitMs + 250)
  await baton.close()
})

test.each(['wait', 'fail', 'run'] as const)(
  'a server that is stopped: waitMs 500 is back within 0.8 s (%s)',
  async (whenUnavailable) => {
    const stopped = await startServer()
    const baton = await connect(stopped.url, { node: 'a', whenUnavailable })
    // Once with a session that is open, once without one.
    for (const isWarm of [false, true]) {
      if (isWarm) await baton.lock('warm', () => {})
      process.kill(stopped.process.pid, 'SIGSTOP')
      const startMs = performance.now()
      const end = await baton.lock('l', ({ fence }) => fence, { waitMs: 500 }).catch(({ code }) => code)
      const tookMs = performance.now() - startMs
      console.log(`${whenUnavailable}: back after ${tookMs.toFixed(0)} ms`)
      expect(tookMs).toBeLessThan(800)
      expect(end).toBe(whenUnavailable === 'run' ? 0 : 'unavailable')
      process.kill(stopped.process.pid, 'SIGCONT')
    }
    // What was asked for and given up has left nothing behind.
    await until('nobody holds or waits', async () => {
      const { grants, waiting } = await baton.status('l')
      return grants.length === 0 && waiting === 0
    })
    await baton.close()
    await stopped.stop()
  },
)
