import { settled } from '@baton-lock/store/conformance'
import { newClientWorld } from '@baton-lock/test-support/client-world'
import { expect, test } from 'vitest'

test('a request that arrives when everybody has forgotten it takes a place that nobody knows of: the client gives it back', async () => {
  const { client, clock } = newClientWorld()
  const { baton, wire } = client({ node: 'a' })
  // Keeps the session alive, and with it whatever hangs off it.
  await baton.lock('other')
  let isFirst = true
  wire.fate = ({ type, resource }) => {
    if (type !== 'acquire' || resource !== 'late' || !isFirst) return 'pass'
    isFirst = false
    return { requestAfterMs: 90_000 }
  }
  const locking = baton.lock('late', () => 'done')
  await clock.advance(5_000)
  expect(await locking).toBe('done')
  // It was released, and what is remembered of that is gone.
  await clock.advance(84_000)
  expect((await baton.status('late')).grants).toEqual([])
  await clock.advance(1_500)
  expect((await baton.status('late')).grants).toMatchObject([{ node: 'a' }])
  await clock.advance(15_000)
  await settled()
  expect((await baton.status('late')).grants).toEqual([])
})
