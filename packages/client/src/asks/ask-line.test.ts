import { defaultPolicy } from '@baton-lock/core'
import { settled } from '@baton-lock/store/conformance'
import { newClientWorld, outcomeOf } from '@baton-lock/test-support/client-world'
import { expect, test } from 'vitest'

const lock = ['lock', 'l'] as const

/** The second in line, whose first has just given up; and the places that it was told of. */
async function secondInLine(options: { readonly placeEveryMs?: number } = {}) {
  const { client, clock } = newClientWorld()
  const [a, b, c] = [client({ node: 'a' }), client({ node: 'b' }), client({ node: 'c' })]
  await a.baton.acquire(...lock)
  const stop = new AbortController()
  const before = outcomeOf(b.baton.acquire(...lock, { signal: stop.signal }))
  await settled()
  const positions: number[] = []
  void outcomeOf(c.baton.acquire(...lock, { ...options, onQueued: (position) => positions.push(position) }))
  await settled()
  stop.abort()
  await before
  return { clock, positions, wire: c.wire }
}

test('the place in line is told, and again when it has changed', async () => {
  const { clock, positions } = await secondInLine()
  await clock.advance(30_000)
  expect(positions).toEqual([2, 1])
})

test('the place in line is looked for as often as its asker wants to know', async () => {
  const { clock, positions, wire } = await secondInLine({ placeEveryMs: 2_000 })
  await clock.advance(1_900)
  expect(positions).toEqual([2])
  await clock.advance(200)
  expect(positions).toEqual([2, 1])
  expect(wire.of('acquire').length).toBe(2)
})

test('a queue without room is a refusal, not a wait', async () => {
  const namespaces = { default: { ...defaultPolicy.namespaces.default!, queueLimit: 1 } }
  const { client } = newClientWorld({ policy: { namespaces } })
  const { baton } = client({ node: 'a' })
  await baton.acquire(...lock)
  void outcomeOf(baton.acquire(...lock))
  await settled()
  expect(await outcomeOf(baton.acquire(...lock))).toMatchObject({ code: 'queue-full' })
})

test('bad input is an error that says what to change', async () => {
  const { client } = newClientWorld()
  const { baton } = client({ node: 'a' })
  expect(await outcomeOf(baton.acquire('lock', ''))).toMatchObject({
    code: 'bad-argument',
    message: /resource must be/,
  })
  expect(await outcomeOf(baton.acquire('nonsense', 'x'))).toMatchObject({ code: 'unknown-operation' })
  expect(await outcomeOf(baton.acquire('lock', 'x', { waitMs: -1 }))).toBeInstanceOf(TypeError)
})
