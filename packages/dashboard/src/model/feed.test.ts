import type { Event } from '@baton-lock/core'
import type { GatheredEvent } from '@baton-lock/protocol'
import { describe, expect, test } from 'vitest'
import { Feed } from './feed.ts'
import { ServerClock } from './server-clock.ts'

const queued = (node: string, resource = 'r'): Event => ({
  type: 'queued',
  ...{ namespace: 'default', resource, operation: 'lock', atMs: 0, node, owner: node, position: 1 },
})
const left = (node: string): Event => ({
  type: 'left',
  ...{ namespace: 'default', resource: 'r', operation: 'lock', atMs: 0, node, owner: node },
})
const claimed = (node: string) => ({ ...left(node), type: 'claimed', fence: 1 }) as Event
const gathered = (events: Event[], omitted = 0): GatheredEvent => ({
  type: 'gathered',
  ...{ events, omitted, changed: [], more: false },
})
const nodes = (feed: Feed) => feed.items.value.map(({ event }) => 'node' in event && event.node)

describe('the feed', () => {
  test('has the newest first, and crowds as one', () => {
    const feed = new Feed()
    feed.add(gathered([queued('a'), queued('b'), queued('c'), queued('d', 'other'), left('e')]))
    expect(nodes(feed)).toEqual(['e', 'd', 'c'])
    expect(feed.items.value.map(({ alike }) => alike)).toEqual([0, 0, 2])
  })

  test('says how many it was not told of', () => {
    const feed = new Feed()
    feed.add(gathered([left('a'), queued('b')], 40))
    expect(feed.items.value.map(({ omitted }) => omitted)).toEqual([0, 40])
  })

  test('stands still while it is paused, and then goes on with what has come', () => {
    const feed = new Feed()
    feed.add(gathered([left('a')]))
    feed.pause(true)
    feed.add(gathered([left('b')], 9))
    expect([nodes(feed), feed.waiting.value]).toEqual([['a'], 10])
    feed.pause(false)
    expect([nodes(feed), feed.waiting.value]).toEqual([['b', 'a'], 0])
  })

  test('keeps the last few hundred, paused or not', () => {
    const feed = new Feed()
    for (let batch = 0; batch < 50; batch++) {
      feed.pause(batch > 25)
      feed.add(gathered(Array.from({ length: 20 }, (_, each) => claimed(`${batch}-${each}`))))
    }
    feed.pause(false)
    expect(feed.items.value).toHaveLength(400)
    expect(nodes(feed)[0]).toBe('49-19')
  })
})

describe('the clock of the server', () => {
  test('goes on by itself from what a reply said, and is not set back by one that was slow', () => {
    let monoMs = 100
    const clock = new ServerClock(() => monoMs)
    expect(clock.isKnown).toBe(false)
    clock.set(5_000)
    monoMs += 1_000
    expect(clock.nowMs()).toBe(6_000)
    clock.set(5_900)
    expect(clock.nowMs()).toBe(5_995)
  })

  test('follows where it has fallen behind, as the clock of a paused server does', () => {
    const clock = new ServerClock(() => 0)
    clock.set(100_000)
    clock.set(40_000)
    expect(clock.nowMs()).toBe(40_000)
  })
})
