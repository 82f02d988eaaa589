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

test('a place that cannot be taken away keeps no other; the session stays until it can, and who ends it at the same time ends it once', async () => {
  const place = (resource: string) => ({ namespace: 'default', resource, operation: 'pull', owner: 'o', node: 'n' })
  const places = new Set(['first', 'second', 'third'])
  let endings = 0
  let isThere = true
  const backend = {
    endSession: async () => {
      endings++
      return { how: 'lost', places: [...places].map(place) }
    },
    removeSession: async () => {
      isThere = places.size > 0
    },
  } as unknown as Backend
  let failing: string | undefined = 'first'
  const sessions = new RemoteSessions(backend, {
    step: async ({ resource }) => {
      if (resource === failing) throw new Error('others have changed it all the time')
      places.delete(resource)
    },
  })
  const both = await Promise.allSettled([sessions.end('s', 'lost'), sessions.end('s', 'lost')])
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect({ endings, isThere, places: [...places] }).toEqual({ endings: 1, isThere: true, places: ['first'] })
  failing = undefined
  await sessions.end('s', 'lost')
  expect({ endings, isThere }).toEqual({ endings: 2, isThere: false })
})
