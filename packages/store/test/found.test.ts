import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore } from 'baton-lock/store-table'
import { expect, onTestFinished, test } from 'vitest'
import { SimulatedClock } from '../src/conformance/simulated-clock.ts'
import type { StoreFound } from '../src/kind.ts'

/** What is told of a store that is opened, used for two sessions, and closed. */
async function told(url: string): Promise<{ found: StoreFound | undefined; sessions: string[] }> {
  const clock = new SimulatedClock()
  const sessions: string[] = []
  let found: StoreFound | undefined
  const store = await openStore(url, {
    clock,
    onFound: (store) => {
      found = store
    },
    onSession: (session, change) => sessions.push(`${session} ${change}`),
  })
  for (const session of ['a', 'b']) await store.openSession({ session, node: 'n', ttlMs: 1_000 })
  await store.renewSession('a')
  await store.closeSession('a')
  await clock.advance(2_000)
  await store.sweep(10)
  await store.close()
  return { found, sessions }
}

const sessions = ['a opened', 'b opened', 'a left', 'b lost']

test('a store in memory is always new', async () => {
  for (let time = 0; time < 2; time++)
    expect(await told('memory:')).toEqual({ found: { at: 'memory:', isNew: true }, sessions })
})

test('a store of files is new once, and says where it is', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'baton-found-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const at = join(folder, 'data')
  for (const isNew of [true, false]) expect(await told(`file:${at}`)).toEqual({ found: { at, isNew }, sessions })
})
