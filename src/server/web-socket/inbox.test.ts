import { expect, test } from 'vitest'
import { Inbox, type NumberedRequests } from './inbox.ts'

/** Frames are `FROM COUNT`; turns are taken by hand. */
function newInbox({ mayDivide = true } = {}) {
  const turns: (() => void)[] = []
  const asked: [from: number, count: number][] = []
  let waiting = 0
  const inbox = new Inbox({
    inTurn: (work) => void turns.push(work),
    take: (text, ask) => {
      const [from = 0, count = 0] = text.split(' ').map(Number)
      ask({ from, requests: Array(count).fill('request'), keep: undefined })
    },
    ask: ({ from, requests }: NumberedRequests) => void asked.push([from, requests.length]),
    mayDivide: () => mayDivide,
    onWaiting: (change) => {
      waiting += change
    },
  })
  return { inbox, asked, turn: () => turns.shift()?.(), waiting: () => waiting }
}

test('a large frame comes some requests a turn, and no later frame overtakes it', () => {
  const { inbox, asked, turn } = newInbox()
  inbox.add('1 250')
  inbox.add('251 2')
  turn()
  expect(asked).toEqual([[1, 100]])
  for (let count = 0; count < 3; count++) turn()
  expect(asked).toEqual([
    [1, 100],
    [101, 100],
    [201, 50],
    [251, 2],
  ])
})

test('what may not be divided comes at once', () => {
  const { inbox, asked, turn } = newInbox({ mayDivide: false })
  inbox.add('1 250')
  turn()
  expect(asked).toEqual([[1, 250]])
})

test('it is full with eight frames, or with much text, and says how much waits', () => {
  const { inbox, turn, waiting } = newInbox()
  for (let count = 0; count < 7; count++) inbox.add('1 1')
  expect([inbox.isFull, waiting()]).toEqual([false, 21])
  inbox.add('1 1')
  expect(inbox.isFull).toBe(true)
  turn()
  expect([inbox.isFull, waiting()]).toEqual([false, 21])
  inbox.add(`1 1 ${'x'.repeat(65_536)}`)
  expect(inbox.isFull).toBe(true)
  inbox.clear()
  expect([inbox.isFull, waiting()]).toEqual([false, 0])
  turn()
})
