import { expect, test } from 'vitest'
import { Inbox } from './inbox.ts'

function newInbox() {
  let waiting = 0
  const inbox = new Inbox((change) => {
    waiting += change
  })
  return { inbox, waiting: () => waiting }
}

const requests = (count: number) => Array.from({ length: count }, () => 'request')

test('of a large frame some requests are taken a turn, and the rest before any other frame', () => {
  const { inbox } = newInbox()
  const turns: [from: number, count: number][] = []
  let next = inbox.divide({ from: 1, requests: requests(250), keep: [7] }, () => true)
  for (;;) {
    turns.push([next.from, next.requests.length])
    expect(next.keep).toEqual([7])
    const rest = inbox.takeRest()
    if (!rest) break
    next = inbox.divide(rest, () => true)
  }
  expect(turns).toEqual([
    [1, 100],
    [101, 100],
    [201, 50],
  ])
  expect(inbox.hasRest).toBe(false)
})

test('what may not be divided is taken at once', () => {
  const { inbox } = newInbox()
  const all = { from: 1, requests: requests(250), keep: undefined }
  expect(inbox.divide(all, () => false)).toBe(all)
  expect(inbox.hasRest).toBe(false)
})

test('it is full with eight frames, or with much text, and says how much waits', () => {
  const { inbox, waiting } = newInbox()
  for (let count = 0; count < 7; count++) inbox.add('1 1')
  expect([inbox.isFull, waiting()]).toEqual([false, 21])
  inbox.add('1 1')
  expect(inbox.isFull).toBe(true)
  expect(inbox.take()).toBe('1 1')
  expect([inbox.isFull, waiting()]).toEqual([false, 21])
  inbox.add(`1 1 ${'x'.repeat(65_536)}`)
  expect(inbox.isFull).toBe(true)
  inbox.clear()
  expect([inbox.isFull, waiting(), inbox.take()]).toEqual([false, 0, undefined])
})
