import { type Acquire, defaultPolicy as policy } from '@baton-lock/core'
import { openMemoryStore } from '@baton-lock/store/memory'
import type { Store } from '@baton-lock/store/store'
import { expect, test } from 'vitest'
import { checkHistory } from '../history/check-history.ts'
import { mergeJournals, type TimedRecord } from '../history/journal.ts'
import { withoutLostTails } from './lost-tails.ts'

const r = { namespace: 'default', resource: 'r' }
const acquire = (owner: string): Acquire => ({
  type: 'acquire',
  operation: 'lock',
  node: owner,
  owner,
  hold: 'h',
  ttlMs: 600_000,
})

/** What a server writes down that is killed and started again; what its disk kept of it is the caller's to say. */
async function killedServer({ acknowledged, kept }: { acknowledged: number; kept: readonly string[] }) {
  const journal: TimedRecord[] = []
  let nowMs = 1_000_000
  const open = (isHeard: boolean): Store =>
    openMemoryStore({
      clock: { nowMs: () => nowMs },
      onStep: (step) => isHeard && journal.push({ kind: 'step', ...step, monoMs: ++nowMs }),
    })
  const said = (what: 'started' | 'kept', count: number) =>
    journal.push({ kind: 'server', nowMs, what, count, monoMs: ++nowMs })
  said('started', 0)
  const first = open(true)
  for (const owner of ['a', 'b', 'c']) await first.step(r, acquire(owner))
  said('kept', acknowledged)
  said('started', 0)
  // What is read from the disk is not a step.
  let isReading = true
  const second = openMemoryStore({
    clock: { nowMs: () => nowMs },
    onStep: (step) => !isReading && journal.push({ kind: 'step', ...step, monoMs: ++nowMs }),
  })
  for (const owner of kept) await second.step(r, acquire(owner))
  isReading = false
  await second.step(r, acquire('d'))
  return journal
}

const check = (journals: readonly (readonly TimedRecord[])[]) => checkHistory(mergeJournals(journals), { policy })
const left = async (server: Parameters<typeof killedServer>[0]) => {
  const journal = await killedServer(server)
  const settled = withoutLostTails([journal], policy)
  return { violations: check(settled).length, leftOut: journal.length - settled[0]!.length }
}

test('of steps that nobody was told of, as many are left out as were lost', async () => {
  expect(await left({ acknowledged: 1, kept: ['a', 'b', 'c'] })).toEqual({ violations: 0, leftOut: 0 })
  expect(await left({ acknowledged: 1, kept: ['a', 'b'] })).toEqual({ violations: 0, leftOut: 1 })
  expect(await left({ acknowledged: 1, kept: ['a'] })).toEqual({ violations: 0, leftOut: 2 })
})

test('a step that was acknowledged is missed', async () => {
  expect((await left({ acknowledged: 2, kept: ['a'] })).violations).toBeGreaterThan(0)
  expect((await left({ acknowledged: 3, kept: ['a', 'b'] })).violations).toBeGreaterThan(0)
})
