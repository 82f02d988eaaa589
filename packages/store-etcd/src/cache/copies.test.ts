import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { KeyValue, Operation } from '../etcd.ts'
import { Keys } from '../keys.ts'
import { Copies, Copy } from './copies.ts'

const keys = new Keys('p/')
const at = { namespace: 'n', resource: 'r' }
const put = (key: string, value = ''): Operation => ({ put: { key, value } })

test('a copy finds what etcd would find, whatever was put and deleted', () => {
  const name = fc.constantFrom('a', 'a/1', 'a/2', 'a/3', 'b', 'b/1', 'c')
  const range = fc.constantFrom({ key: 'a/', end: 'a0' }, { key: 'a', end: 'c' }, { key: 'b/', end: 'b0' })
  const operation = fc.oneof(
    fc.record({ put: fc.record({ key: name, value: fc.string() }) }),
    fc.record({ delete: fc.oneof(fc.record({ key: name }), range) }),
  )
  fc.assert(
    fc.property(
      fc.array(fc.array(operation)),
      range,
      name,
      fc.integer({ min: 1, max: 3 }),
      (commits, wanted, one, limit) => {
        const naive = new Map<string, KeyValue>()
        let copy = new Copy()
        for (const [at, operations] of commits.entries()) {
          const revision = at + 1
          copy = copy.after(operations, revision)
          for (const each of operations) {
            if ('put' in each) {
              const { key, value } = each.put
              const createRevision = naive.get(key)?.createRevision ?? revision
              const version = (naive.get(key)?.version ?? 0) + 1
              naive.set(key, { key, value, createRevision, modRevision: revision, version, lease: 0 })
            } else {
              const { key, end = `${key}\0` } = each.delete as { key: string; end?: string }
              for (const there of [...naive.keys()]) if (there >= key && there < end) naive.delete(there)
            }
          }
        }
        const inRange = [...naive.values()].filter(({ key }) => key >= wanted.key && key < wanted.end)
        inRange.sort((a, b) => (a.key < b.key ? -1 : 1))
        expect(copy.find(wanted)).toEqual({ kvs: inRange, count: inRange.length })
        expect(copy.find({ ...wanted, limit })).toEqual({ kvs: inRange.slice(0, limit), count: inRange.length })
        expect(copy.find({ key: one })!.kvs[0]).toEqual(naive.get(one))
        expect(copy.size).toBe([...naive.values()].reduce((sum, { key, value }) => sum + key.length + value.length, 0))
      },
    ),
  )
})

test('a copy is as its last commit left it, and gone when somebody else has changed the resource', () => {
  const copies = new Copies(keys)
  const others = put(keys.resource({ ...at, resource: 'other' }), 'of somebody else')
  copies.committed(new Map([['n/r', new Copy()]]), [put(keys.resource(at), 'first'), others, put(keys.meta)], 7)
  expect(copies.of('n/other')).toBeUndefined()
  expect(copies.of('n/r')!.find({ key: keys.resource(at) })!.kvs).toMatchObject([{ value: 'first', modRevision: 7 }])
  copies.heard('n/r', 7)
  expect(copies.of('n/r')).toMatchObject({ modRevision: 7 })
  copies.heard('n/r', 8)
  expect(copies.of('n/r')).toBeUndefined()
})

test('of a copy that was read, only what lies within what was read is known', () => {
  const waiter = {
    key: keys.waiter(at, 'lock', 1),
    value: '1',
    createRevision: 3,
    modRevision: 3,
    version: 1,
    lease: 0,
  }
  const copy = Copy.of([waiter], [{ key: keys.resource(at) }, keys.waiters(at)], { modRevision: 3, inVain: 1 })
  expect(copy.find(keys.queue(at, 'lock'))).toEqual({ kvs: [waiter], count: 1 })
  expect(copy.find(keys.queue(at, 'pull'))).toEqual({ kvs: [], count: 0 })
  expect(copy.find({ key: keys.resource(at) })).toEqual({ kvs: [], count: 0 })
  expect(copy.find(keys.memories(at))).toBeUndefined()
  expect(copy.find({ key: keys.deadlines(at).key, end: keys.waiters(at).end! })).toBeUndefined()
  const after = copy.after([{ delete: { key: waiter.key } }, put(keys.resource(at))], 4)
  expect(after).toMatchObject({ modRevision: 4, inVain: 0 })
  expect(after.find(keys.waiters(at))).toEqual({ kvs: [], count: 0 })
  expect(after.find(keys.memories(at))).toBeUndefined()
})

const kv = (key: string, modRevision = 3): KeyValue => {
  return { key, value: key, createRevision: modRevision, modRevision, version: 1, lease: 0 }
}
const waiters = [1, 2, 3, 4].map((ticket) => kv(keys.waiter(at, 'lock', ticket)))
const queue = keys.queue(at, 'lock')

test('of a queue whose first were read, so many are known and no more, also when some have gone and come', () => {
  const first = [
    { ...queue, limit: 3 },
    { kvs: waiters.slice(0, 3), count: 4 },
  ] as const
  const copy = Copy.ofReads([first], { path: 'n/r', keys, modRevision: 3, before: undefined })
  expect(copy.find({ ...queue, limit: 3 })).toMatchObject({ kvs: waiters.slice(0, 3) })
  expect(copy.find({ ...queue, limit: 2 })).toMatchObject({ kvs: waiters.slice(0, 2) })
  expect(copy.find({ ...queue, limit: 4 })).toBeUndefined()
  expect(copy.find(queue)).toBeUndefined()
  expect(copy.find({ key: waiters[3]!.key })).toBeUndefined()
  // The last one is in the copy, and there may be others before it.
  const operations = [{ delete: { key: waiters[0]!.key } }, put(keys.waiter(at, 'lock', 9))]
  const after = copy.after(operations, 4)
  expect(after.find({ ...queue, limit: 2 })).toMatchObject({ kvs: waiters.slice(1, 3) })
  expect(after.find({ ...queue, limit: 3 })).toBeUndefined()
})

test('what was read of a resource adds to what is known of it, if that is of the same revision', () => {
  const before = Copy.of(waiters, [queue], { modRevision: 3, inVain: 0 })
  const itself = kv(keys.resource(at))
  const read = [{ key: itself.key }, { kvs: [itself], count: 1 }] as const
  const both = Copy.ofReads([read], { path: 'n/r', keys, modRevision: 3, before })
  expect(both.find(queue)).toEqual({ kvs: waiters, count: 4 })
  expect(both.find({ key: itself.key })).toEqual({ kvs: [itself], count: 1 })
  expect(both.size).toBe(before.size + 2 * itself.key.length)
  const later = Copy.ofReads([read], { path: 'n/r', keys, modRevision: 4, before })
  expect(later.find(queue)).toBeUndefined()
  expect(later.find({ key: itself.key })).toEqual({ kvs: [itself], count: 1 })
})

test('of very many pieces those of single asks are forgotten first, and of these the oldest', () => {
  const nothing = { kvs: [], count: 0 }
  const ofAsk = (number: number) => keys.ticketsOf(at, 'lock', `owner${number}`)
  let copy = Copy.of(waiters, [queue], { modRevision: 3, inVain: 0 })
  for (let number = 0; number < 63; number++) copy = copy.and([[ofAsk(number), nothing]], keys)
  // What is known already takes no place again.
  copy = copy.and([[ofAsk(62), nothing]], keys)
  expect(copy.find(ofAsk(0))).toEqual(nothing)
  copy = copy.and([[ofAsk(63), nothing]], keys)
  expect(copy.find(ofAsk(0))).toBeUndefined()
  expect(copy.find(ofAsk(1))).toEqual(nothing)
  copy = copy.and(
    Array.from({ length: 70 }, (_, number) => [ofAsk(100 + number), nothing] as const),
    keys,
  )
  expect(copy.find(ofAsk(63))).toBeUndefined()
  expect(copy.find(ofAsk(169))).toEqual(nothing)
  expect(copy.find(queue)).toEqual({ kvs: waiters, count: 4 })
  for (let ticket = 0; ticket < 64; ticket++)
    copy = copy.and([[{ key: keys.waiter(at, 'pull', ticket) }, nothing]], keys)
  expect(copy.find(queue)).toBeUndefined()
  // Once it is read again, what has been known all the time is there with it.
  expect(copy.and([[queue, { kvs: waiters, count: 4 }]], keys).find(queue)).toEqual({ kvs: waiters, count: 4 })
})

test('what comes just after a range is not within it', () => {
  const copy = Copy.of(waiters, [{ key: queue.key, end: waiters[3]!.key }], { modRevision: 3, inVain: 0 })
  expect(copy.find({ key: waiters[2]!.key })).toMatchObject({ count: 1 })
  expect(copy.find({ key: waiters[3]!.key })).toBeUndefined()
  expect(copy.find({ key: queue.key, end: waiters[3]!.key })).toMatchObject({ count: 3 })
})

test('a copy follows what another process says it has done, from the revision that the copy has and from no other', () => {
  const copies = new Copies(keys)
  copies.committed(new Map([['n/r', new Copy()]]), [put(keys.resource(at), 'first')], 7)
  const all = [put(keys.resource(at), 'second'), put(keys.tick), put(keys.waiter(at, 'lock', 1), 'w')]
  const delta = copies.deltaOf('n/r', 7, all)
  expect(delta.operations).toHaveLength(2)
  copies.follow({ ...delta, base: 6 }, 8)
  expect(copies.of('n/r')).toMatchObject({ modRevision: 7 })
  // Whether it has heard of the change before, or not.
  for (const revision of [8, 9]) {
    if (revision === 9) copies.heard('n/r', revision)
    copies.follow({ ...delta, base: revision - 1 }, revision)
    expect(copies.of('n/r')).toMatchObject({ modRevision: revision })
    expect(copies.of('n/r')!.find(keys.waiters(at))!.kvs).toMatchObject([{ value: 'w' }])
  }
})

test('what a commit did not change keeps its revision; what is forgotten has no copy', () => {
  const copies = new Copies(keys)
  copies.committed(new Map([['n/r', new Copy()]]), [put(keys.resource(at))], 7)
  const both = () => new Map([['n/r', copies.of('n/r')!]])
  copies.committed(both(), [], 8)
  expect(copies.of('n/r')).toMatchObject({ modRevision: 7 })
  copies.committed(both(), [{ delete: { key: keys.resource(at) } }], 9)
  expect(copies.of('n/r')).toBeUndefined()
})

test('there are no more copies than there is room for: those that were used last stay', () => {
  const copies = new Copies(keys)
  const text = 'x'.repeat(6 * 1024 * 1024)
  const large = (resource: string) => {
    copies.committed(new Map([[`n/${resource}`, new Copy()]]), [put(keys.resource({ ...at, resource }), text)], 1)
  }
  large('first')
  large('second')
  copies.of('n/first')
  large('third')
  expect(['first', 'second', 'third'].map((each) => copies.of(`n/${each}`) !== undefined)).toEqual([true, false, true])
})
