import type { ClientFrame } from '@baton-lock/protocol'
import { expect, test } from 'vitest'
import { Inbox } from './inbox.ts'

function newInbox() {
  let waiting = 0
  const inbox = new Inbox((change) => {
    waiting += change
  })
  return { inbox, waiting: () => waiting }
}

const frame = (type: string, count: number) =>
  ({
    from: 1,
    requests: Array.from({ length: count }, () => ({ type })),
    keep: [7],
    listen: [],
  }) as unknown as ClientFrame

test('of a large frame some requests are taken a turn, and the rest before any other frame', () => {
  const { inbox } = newInbox()
  inbox.add('next')
  const turns: [from: number | undefined, count: number | undefined][] = []
  let part = inbox.divide(frame('acquire', 250))
  expect(part.listen).toEqual([])
  for (;;) {
    turns.push([part.from, part.requests?.length])
    expect(part.keep).toEqual([7])
    if (!inbox.hasRest) break
    part = inbox.divide(inbox.take() as ClientFrame)
    expect(part.listen).toBeUndefined()
  }
  expect(turns).toEqual([
    [1, 100],
    [101, 100],
    [201, 50],
  ])
  expect(inbox.take()).toBe('next')
})

test('requests that wait for the answers to those before them are not divided', () => {
  const { inbox } = newInbox()
  const all = frame('close-session', 250)
  expect(inbox.divide(all)).toBe(all)
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
