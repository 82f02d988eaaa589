import { expect, test } from 'vitest'
import type { StepRecord } from './history.ts'
import { RepeatCheck } from './repeat-check.ts'
import type { Violation } from './violation.ts'

const name = { operation: 'lock', node: 'a', owner: 'a', hold: 'h1' }

function violations(...steps: readonly [atMs: number, command: object, reply: object][]): Violation[] {
  const found: Violation[] = []
  const check = new RepeatCheck(found)
  for (const [nowMs, command, reply] of steps)
    check.takeStep({
      kind: 'step',
      namespace: 'default',
      resource: 'r',
      nowMs,
      command: { ...name, ...command },
      reply,
      events: [],
    } as unknown as StepRecord)
  return found
}

const release = { type: 'release', fence: 1, outcome: 'success' }
const released = { status: 'released', outcome: 'success', holdsLeft: 0 }

test('a repeated release that is answered as before is in order', () => {
  expect(violations([0, release, released], [59_999, release, released])).toEqual([])
})

test('a repeated release that is refused is a violation, for a minute', () => {
  const refused = { status: 'refused', code: 'unknown-grant' }
  expect(violations([0, release, released], [59_999, release, refused])).toMatchObject([{ invariant: 14 }])
  expect(violations([0, release, released], [60_000, release, refused])).toEqual([])
})

test('a release with another fence is no repetition', () => {
  expect(
    violations([0, release, released], [1, { ...release, fence: 2 }, { status: 'refused', code: 'stale-fence' }]),
  ).toEqual([])
})

test('an ask whose hold was released is not granted anew, nor put in line', () => {
  const ask = { type: 'acquire' }
  expect(violations([0, release, released], [1, ask, { status: 'granted', fence: 2 }])).toMatchObject([
    { invariant: 14 },
  ])
  expect(violations([0, release, released], [1, ask, { status: 'queued' }])).toMatchObject([{ invariant: 14 }])
  expect(violations([0, release, released], [1, ask, { status: 'refused', code: 'hold-ended' }])).toEqual([])
})
