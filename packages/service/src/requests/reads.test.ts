import { settled } from '@baton-lock/store/conformance'
import { expect, test } from 'vitest'
import { ReadTurns } from './reads.ts'

function world() {
  let nowMs = 0
  const immediates: (() => void)[] = []
  const turns = new ReadTurns({ nowMs: () => nowMs, later: (callback) => immediates.push(callback) })
  const done: string[] = []
  /** A read that takes so long. */
  const read = async (name: string, ms: number) => {
    const turn = turns.next()
    if (turn) await turn
    nowMs += ms
    done.push(name)
  }
  /** A turn of the event loop. */
  const turn = async () => {
    for (const callback of immediates.splice(0)) callback()
    await settled()
  }
  return { read, turn, done, immediates }
}

test('short reads go on at once', () => {
  const { read, done } = world()
  for (const name of ['a', 'b', 'c']) void read(name, 0.5)
  expect(done).toEqual(['a', 'b', 'c'])
})

test('once a turn has been read for long enough, the rest follows one by one, a turn each, the oldest first', async () => {
  const { read, turn, done } = world()
  for (const name of ['a', 'b', 'c', 'd']) void read(name, 1.5)
  expect(done).toEqual(['a', 'b'])
  await turn()
  expect(done).toEqual(['a', 'b', 'c'])
  void read('late', 0)
  await turn()
  expect(done).toEqual(['a', 'b', 'c', 'd'])
  await turn()
  expect(done.at(-1)).toBe('late')
})

test('a turn in which nobody reads ends it: the next read begins anew, and nothing is waited for', async () => {
  const { read, turn, done, immediates } = world()
  void read('a', 10)
  await turn()
  expect(immediates).toEqual([])
  void read('b', 10)
  expect(done).toEqual(['a', 'b'])
})
