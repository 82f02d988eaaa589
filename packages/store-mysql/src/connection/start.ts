import { systemTiming, type Timing } from '@baton-lock/store/timing'
import type { Connection } from 'mysql2'
import { Connections } from './connections.ts'
import { isSlow, unavailable } from './failures.ts'
import { targetOf } from './mysql-url.ts'

const START_MS = 30_000

/**
 * A database that is busy takes its time, `ETIMEDOUT` included: whoever starts waits for it, if only it is there. `work`
 * begins anew each time, and leaves nothing behind where it fails.
 */
export async function startPatiently<Result>({ monoMs }: Timing, work: () => Promise<Result>): Promise<Result> {
  const endMs = monoMs() + START_MS
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (error instanceof TypeError) throw error
      if (!isSlow(error) || monoMs() > endMs) throw unavailable(error)
    }
  }
}

/** Work on one connection to a database that is not opened as a store. */
export async function onceOn<Result>(url: string, work: (connection: Connection) => Promise<Result>): Promise<Result> {
  return startPatiently(systemTiming, async () => {
    const connections = new Connections(targetOf(url), systemTiming)
    try {
      return await connections.alone(work)
    } finally {
      await connections.close()
    }
  })
}
