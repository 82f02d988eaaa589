import { expect, test } from 'vitest'
import { Account, FairQueue } from './fair-queue.ts'

/** A queue whose work takes as long as it says, and whose turns are taken by hand. */
function newQueue() {
  let nowMs = 0
  let turns: (() => void)[] = []
  const done: string[] = []
  const queue = new FairQueue({ nowMs: () => nowMs, later: (callback) => void turns.push(callback) })
  return {
    done,
    run(account: Account, name: string, tookMs: number) {
      queue.run(account, () => {
        nowMs += tookMs
        done.push(name)
      })
    },
    queue,
    pass(ms: number) {
      nowMs += ms
    },
    turn() {
      const now = turns
      turns = []
      for (const callback of now) callback()
      return done.splice(0)
    },
    get isIdle() {
      return turns.length === 0
    },
  }
}

test('while there is time left in a turn, work is done as it comes, and at once', () => {
  const { run, done } = newQueue()
  const [a, b] = [new Account(), new Account()]
  run(a, 'a1', 1)
  run(b, 'b1', 0.5)
  run(a, 'a2', 0.4)
  expect(done).toEqual(['a1', 'b1', 'a2'])
})

test('what is beyond a turn waits for the next one, after input was read', () => {
  const world = newQueue()
  const a = new Account()
  world.run(a, 'a1', 5)
  world.run(a, 'a2', 5)
  world.run(a, 'a3', 5)
  expect(world.done.splice(0)).toEqual(['a1'])
  expect(world.turn()).toEqual(['a2'])
  expect(world.turn()).toEqual(['a3'])
  expect(world.turn()).toEqual([])
  expect(world.isIdle).toBe(true)
})

test('who has used less comes first, however much others have sent before', () => {
  const world = newQueue()
  const [greedy, modest] = [new Account(), new Account()]
  for (let count = 1; count <= 20; count++) world.run(greedy, `greedy-${count}`, 10)
  world.run(modest, 'modest', 0.1)
  expect(world.done.splice(0)).toEqual(['greedy-1'])
  expect(world.turn()).toEqual(['modest', 'greedy-2'])
})

test('one client is served in the order in which it sent', () => {
  const world = newQueue()
  const [greedy, modest] = [new Account(), new Account()]
  world.run(greedy, 'greedy', 10)
  for (let count = 1; count <= 3; count++) world.run(modest, `${count}`, 0.1)
  world.done.splice(0)
  expect(world.turn()).toEqual(['1', '2', '3'])
})

test('nobody waits for ever: one piece of work in eight is of who has waited longest', () => {
  const world = newQueue()
  const [greedy, modest] = [new Account(), new Account()]
  world.run(greedy, 'greedy-1', 100)
  world.run(greedy, 'greedy-2', 1)
  for (let count = 1; count <= 20; count++) world.run(modest, `${count}`, 0.01)
  world.done.splice(0)
  expect(world.turn().indexOf('greedy-2')).toBe(7)
})

test('those in the middle do not wait for ever either', () => {
  const world = newQueue()
  const [most, middle, least] = [new Account(), new Account(), new Account()]
  world.run(most, 'most-1', 200)
  world.turn()
  world.run(middle, 'middle-1', 20)
  for (let count = 1; count <= 30; count++) {
    world.run(most, 'most', 0.01)
    world.run(least, 'least', 0.01)
  }
  world.run(middle, 'middle-2', 0.01)
  world.done.splice(0)
  const done: string[] = []
  while (!world.isIdle) done.push(...world.turn())
  expect(done.indexOf('middle-2')).toBeLessThan(24)
})

test('while something is urgent, nothing waits for a later turn', () => {
  const world = newQueue()
  const a = new Account()
  world.run(a, 'a1', 5)
  for (let count = 2; count <= 5; count++) world.run(a, `a${count}`, 5)
  world.queue.isUrgent = true
  world.done.splice(0)
  expect(world.turn()).toEqual(['a2', 'a3', 'a4', 'a5'])
  world.run(a, 'a6', 5)
  world.run(a, 'a7', 5)
  expect(world.done).toEqual(['a6', 'a7'])
})

test('what was used is forgotten with time', () => {
  const world = newQueue()
  const [once, now] = [new Account(), new Account()]
  world.run(once, 'long ago', 100)
  world.turn()
  world.pass(10_000)
  world.run(now, 'just now', 5)
  world.run(now, 'now', 0.1)
  world.run(once, 'once', 0.1)
  world.done.splice(0)
  expect(world.turn()).toEqual(['once', 'now'])
})

test('where one throws, the others have their turn', () => {
  const world = newQueue()
  const [a, b] = [new Account(), new Account()]
  world.run(a, 'a1', 5)
  world.queue.run(a, () => {
    throw new Error('no')
  })
  world.run(b, 'b1', 5)
  world.done.splice(0)
  expect(world.turn()).toEqual(['b1'])
  expect(() => world.turn()).toThrow('no')
  world.run(b, 'b2', 1)
  expect(world.turn()).toEqual(['b2'])
})

test('work that leads to more of it has that done in a turn of its own', () => {
  const world = newQueue()
  const [a, b] = [new Account(), new Account()]
  const inPieces = (left: number) =>
    world.queue.run(a, () => {
      world.pass(1)
      world.done.push(`piece ${left}`)
      if (left > 1) inPieces(left - 1)
    })
  world.run(b, 'b1', 5)
  inPieces(3)
  world.run(b, 'b2', 1)
  world.done.splice(0)
  expect(world.turn()).toEqual(['piece 3', 'piece 2'])
  expect(world.turn()).toEqual(['piece 1', 'b2'])
  expect(world.turn()).toEqual([])
})
