import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { SimulatedClock } from '../src/conformance/index.ts'
import { nodeDisk, openFileStore } from '../src/file/index.ts'
import { durableStep } from '../src/store.ts'

const HOURS = 24
const PULLS_A_MINUTE = 20
/** A new log may be extended by this much before anything is written to it. */
const LOG_LIMIT = 128 * 1024

test('24 hours of churn leave the directory at its size, and nothing in memory', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'baton-churn-'))
  const clock = new SimulatedClock()
  // What is synced when makes no difference here but to the time that it takes.
  const disk = nodeDisk({ sync: false })
  const store = await openFileStore({ directory, clock, disk, logLimit: LOG_LIMIT, liveLimit: 64 })
  const hours: { smallest: number; largest: number }[] = []
  for (let hour = 0; hour < HOURS; hour++) {
    const sizes: number[] = []
    for (let minute = 0; minute < 60; minute++) {
      const pulls = Array.from({ length: PULLS_A_MINUTE }, async (_, index) => {
        const at = { namespace: 'default', resource: `sha256:${hour}-${minute}-${index}` }
        const asker = { operation: 'pull', owner: 'n', hold: '1' }
        const ask = { type: 'acquire', ...asker, node: 'n', ttlMs: 30_000, reference: false } as const
        const reply = await durableStep(store, at, ask)
        if (reply.status !== 'granted') throw new Error(JSON.stringify(reply))
        await durableStep(store, at, {
          type: 'release',
          ...asker,
          fence: reply.fence,
          outcome: 'success',
          result: { index },
        })
      })
      await Promise.all(pulls)
      clock.jump(60_000)
      await store.sweep(1_000)
      sizes.push(sizeOf(directory))
      // A minute passes in no time here: what takes real time must not fall behind.
      while (isTurningOver(directory)) await new Promise((resolve) => setImmediate(resolve))
      sizes.push(sizeOf(directory))
    }
    hours.push({ smallest: Math.min(...sizes), largest: Math.max(...sizes) })
  }
  expect((await store.counts()).resources).toBeLessThanOrEqual(61 * PULLS_A_MINUTE)
  // After two hours it has all that it will ever have. While a snapshot is written, the one before is still there.
  const [first, ...later] = hours.slice(2)
  for (const { smallest, largest } of later) {
    expect(smallest).toBeLessThan(1.2 * first!.smallest + LOG_LIMIT)
    expect(largest).toBeLessThan(4 * first!.smallest)
  }
  clock.jump(3_600_000)
  while ((store.nextDeadlineMs() ?? Infinity) <= clock.nowMs()) await store.sweep(1_000)
  expect((await store.counts()).resources).toBe(0)
  await store.close()
  rmSync(directory, { recursive: true })
}, 120_000)

/** A snapshot is being written, or what it has made unnecessary is being removed. */
function isTurningOver(directory: string): boolean {
  const names = readdirSync(directory)
  return names.filter((name) => /^(log|snapshot)-/.test(name)).length > 2
}

function sizeOf(directory: string): number {
  return readdirSync(directory).reduce((sum, name) => {
    const found = statSync(join(directory, name), { throwIfNoEntry: false })
    return sum + (found?.size ?? 0)
  }, 0)
}
