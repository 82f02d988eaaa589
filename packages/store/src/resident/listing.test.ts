import { addReference } from '@baton-lock/core'
import { expect, test } from 'vitest'
import { nameOf } from '../address.ts'
import { listOf } from './listing.ts'
import { Shards } from './shards.ts'

const COUNT = 12_000
const at = (index: number) => ({ namespace: 'default', resource: `r${String(index).padStart(5, '0')}` })

/** So many resources that nobody has asked for yet. */
function manyShards(): Shards {
  const shards = new Shards()
  const text = '{"fence":1,"references":["n"]}'
  for (let index = 0; index < COUNT; index++)
    shards.place({ ...at(index), isActive: false, deadlineMs: undefined, text })
  return shards
}

function forget(shards: Shards, index: number): void {
  const slot = shards.get(at(index))
  if (!slot) return
  shards.use(slot).references.delete('n')
  shards.settle(slot, undefined)
}

test('others have their turn while a long list is read, and what they touch is in it once', async () => {
  const shards = manyShards()
  let pauses = 0
  const pause = async () => {
    pauses++
    // One that was listed already, and one that was not. Both are forgotten, and made again at the end of the map.
    for (const index of [pauses, COUNT - pauses]) {
      forget(shards, index)
      shards.use(shards.getOrCreate(at(index))).fence = 1
      addReference(shards.get(at(index))!.live!, 'n', 1)
    }
  }
  const names: string[] = []
  let after: string | undefined
  do {
    const page = await listOf(shards, { limit: 5_000, after }, { pace: { pause, pageBytes: Infinity } })
    names.push(...page.resources.map(({ resource }) => resource))
    after = page.next
  } while (after !== undefined)
  expect(pauses).toBeGreaterThanOrEqual(6)
  expect(names).toEqual(Array.from({ length: COUNT }, (_, index) => at(index).resource))
})

test('one that has become idle while a list is read is not in it', async () => {
  const shards = manyShards()
  const pause = async () => {
    forget(shards, 3)
  }
  const { resources } = await listOf(shards, { limit: 5 }, { pace: { pause, pageBytes: Infinity } })
  expect(resources.map(({ resource }) => resource)).toEqual([0, 1, 2, 4].map((index) => at(index).resource))
})

test('a page that has become large ends early, and the next one goes on after it', async () => {
  const shards = manyShards()
  const names: string[] = []
  let pages = 0
  let after: string | undefined
  do {
    const page = await listOf(shards, { limit: 1_000, after }, { pace: { pause: () => undefined, pageBytes: 10_000 } })
    expect(JSON.stringify(page.resources).length).toBeLessThan(11_000)
    names.push(...page.resources.map(({ resource }) => resource))
    after = page.next
    pages++
  } while (after !== undefined && pages < 10)
  expect(names.length).toBeGreaterThan(500)
  expect(names).toEqual(names.map((_, index) => at(index).resource))
})

test('a page has one resource at least, however little it may be', async () => {
  const { resources, next } = await listOf(
    manyShards(),
    { limit: 10 },
    { pace: { pause: () => undefined, pageBytes: 1 } },
  )
  expect([resources.length, next]).toEqual([1, nameOf(at(0))])
})
