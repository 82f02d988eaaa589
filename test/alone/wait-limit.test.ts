import { afterAll, expect, test } from 'vitest'
import { connect } from '../../src/client/index.ts'
import { killRest, startServer, until } from '../e2e/cli-process.ts'

afterAll(() => killRest())

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
