import { expect, test } from 'vitest'
import type { Backend } from './backend.ts'
import { RemoteSessions } from './sessions.ts'

test('where letters were missed, no session is taken to be here until it is renewed: one that had moved may be among them', async () => {
  let onRenew = () => {}
  const backend = {
    renewSession: async () => {
      onRenew()
      return { ttlMs: 1_000, places: 0 }
    },
  } as unknown as Backend
  const sessions = new RemoteSessions(backend, { step: async () => {} })
  await sessions.renew('s')
  expect(sessions.isHere('s')).toBe(true)
  sessions.missed()
  expect(sessions.isHere('s')).toBe(false)
  onRenew = () => sessions.missed()
  await sessions.renew('s')
  expect(sessions.isHere('s')).toBe(false)
  onRenew = () => {}
  await sessions.renew('s')
  expect(sessions.isHere('s')).toBe(true)
})
