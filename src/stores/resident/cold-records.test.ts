import fc from 'fast-check'
import { expect, test } from 'vitest'
import { nameOf } from '../address.ts'
import { ColdRecords } from './cold-records.ts'

const record = fc.record({
  name: fc
    .string({ minLength: 1, unit: 'grapheme', maxLength: 8 })
    .map((resource) => nameOf({ namespace: 'default', resource })),
  text: fc.string({ maxLength: 8 }),
  // Few hashes, so that they meet often.
  hash: fc.nat(3),
  deadlineMs: fc.oneof(fc.nat(5), fc.constant(Infinity)),
})

test('however often their bytes move, there are no more pages than were needed at once', () => {
  const cold = new ColdRecords()
  const page = Buffer.from('{}')
  const record = { nameFrom: 0, from: 0, to: 2, deadlineMs: Infinity }
  for (let hash = 0; hash < 4; hash++) cold.add({ ...record, page, hash })
  for (let snapshot = 0; snapshot < 10; snapshot++) {
    const pages = [Buffer.from('{}'), Buffer.from('{}')]
    for (let index = 0; index < 4; index++) cold.move(index, { page: pages[index >> 1]!, nameFrom: 0 })
  }
  expect(cold.pageCount).toBeLessThanOrEqual(4)
})

test('whoever is not gone is found by name and comes up when due, wherever its bytes stand', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(record, { selector: ({ name }) => name, maxLength: 40 }),
      fc.array(fc.record({ pick: fc.nat(40), act: fc.constantFrom('remove', 'move', 'due') }), { maxLength: 60 }),
      (records, acts) => {
        const cold = new ColdRecords()
        for (const { name, text, hash, deadlineMs } of records) {
          const page = Buffer.from(`##${name}${text}`)
          const from = 2 + Buffer.byteLength(name)
          cold.add({ page, nameFrom: 2, from, to: page.length, hash, deadlineMs })
        }
        const left = new Map(records.map((each) => [each.name, each]))
        for (const { pick, act } of acts) {
          const { name, hash } = records[pick] ?? { name: '?', hash: 0 }
          const index = act === 'due' ? cold.first() : cold.find(name, hash)
          if (index === undefined) continue
          if (act === 'move') {
            const { page, nameFrom, to } = cold.recordOf(index)
            cold.move(index, {
              page: Buffer.concat([Buffer.from('#'), page.subarray(nameFrom, to)]),
              nameFrom: 1,
            })
          } else {
            left.delete(cold.nameOf(index))
            cold.remove(index)
          }
        }
        expect(cold.size).toBe(left.size)
        const dueMs = [...left.values()].map(({ deadlineMs }) => deadlineMs).filter((atMs) => atMs !== Infinity)
        expect(cold.nextMs()).toBe(dueMs.length === 0 ? undefined : Math.min(...dueMs))
        for (const { name, text, hash } of records) {
          const index = cold.find(name, hash)
          expect(index !== undefined).toBe(left.has(name))
          if (index !== undefined) expect(cold.slotOf(index, 0)).toMatchObject({ name, text })
        }
      },
    ),
  )
})
