import { expect, test } from 'vitest'

/*
 * Five of the worst. How long the victim waits is for `npm run attack`, on a machine of its own; here nothing may end, grow
 * beyond its bound, or be granted that should not be.
 */
const WORST = ['pipelined-openapi', 'batch-of-long-queues', 'deaf-streams', 'holds', 'in-the-name-of-the-victim']

/** As they are built: they start processes of the build. */
const built = (name: string) => import(new URL(`../../dist/testing/attacks/${name}.js`, import.meta.url).href)
const { attempt } = (await built('attempt')) as typeof import('../../src/testing/attacks/attempt.ts')
const { attacks } = (await built('attacks')) as typeof import('../../src/testing/attacks/attacks.ts')

test.each(WORST)('%s fails', { timeout: 120_000 }, async (name) => {
  const attack = attacks.find((each) => each.name === name)!
  const { faults } = await attempt(attack, { idleMs: 600, attackMs: 2_000 })
  expect(faults).toEqual([])
})
