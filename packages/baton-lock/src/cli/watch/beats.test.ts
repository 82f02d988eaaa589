import { expect, test } from 'vitest'
import { beats } from './beats.ts'

async function* of(...items: unknown[]) {
  for (const item of items) {
    if (item instanceof Error) throw item
    yield item
  }
}

test('the first of many changes is a beat at once, the rest are one more', async () => {
  let count = 0
  for await (const _ of beats(of(...Array(100).keys()), 20)) count++
  expect(count).toBe(2)
})

test('a change during a beat is another beat, and the last one is never lost', async () => {
  let change = () => {}
  async function* changes() {
    yield
    await new Promise<void>((resolve) => {
      change = resolve
    })
    yield
  }
  let count = 0
  for await (const _ of beats(changes(), 1)) {
    count++
    change()
  }
  expect(count).toBe(2)
})

test('a failure of the changes reaches the reader', async () => {
  const read = async () => {
    for await (const _ of beats(of(1, new Error('gone')), 1));
  }
  await expect(read()).rejects.toThrow('gone')
})
