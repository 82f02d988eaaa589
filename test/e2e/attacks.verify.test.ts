import { attacks } from '@baton-lock/faults/attacks/attacks'
import { attempt } from '@baton-lock/faults/attacks/attempt'
import { expect, test } from 'vitest'

/*
 * Five of the worst. How long the victim waits is for `npm run attack`, on a machine of its own; here nothing may end, grow
 * beyond its bound, or be granted that should not be.
 */
const WORST = ['pipelined-openapi', 'batch-of-long-queues', 'deaf-streams', 'holds', 'in-the-name-of-the-victim']

test.each(WORST)('%s fails', { timeout: 120_000 }, async (name) => {
  const attack = attacks.find((each) => each.name === name)!
  const { faults } = await attempt(attack, { idleMs: 600, attackMs: 2_000 })
  expect(faults).toEqual([])
})
