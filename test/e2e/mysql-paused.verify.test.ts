// needs: mariadb
import { type Mariadb, startMariadb } from '@baton-lock/faults/harness/mariadb'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { killRest } from './cli-process.ts'
import { LibraryProcess } from './library.ts'

const TTL_MS = 2_000
const GRACE_MS = 2_000
const ROUNDS = 10

let mariadb: Mariadb
beforeAll(async () => {
  mariadb = await startMariadb()
}, 120_000)
afterAll(async () => {
  killRest()
  await mariadb.stop()
})

test('a process that stands still in the middle of a transaction holds nobody up for longer than its ttl', async () => {
  const url = await mariadb.createDatabase('paused')
  const stopped = await LibraryProcess.start(url, 'stopped', TTL_MS)
  const other = await LibraryProcess.start(url, 'other', TTL_MS)
  let isOver = false
  const work = async () => {
    while (!isOver) {
      const asked = stopped.acquire('r')
      if ('granted' in (await asked.ended)) await asked.release()
    }
  }
  const worked = work()
  // It is stopped anywhere: some of the rounds find it between the lock of a row and the commit.
  for (let round = 0; round < ROUNDS; round++) {
    await new Promise((resolve) => setTimeout(resolve, 100 + 37 * round))
    stopped.signal('SIGSTOP')
    const startMs = performance.now()
    const asked = other.acquire('r')
    expect(await asked.ended).toHaveProperty('granted')
    expect(performance.now() - startMs, `round ${round}`).toBeLessThan(TTL_MS + GRACE_MS)
    await asked.release()
    stopped.signal('SIGCONT')
  }
  isOver = true
  await worked
  await Promise.all([stopped.close(), other.close()])
}, 120_000)
