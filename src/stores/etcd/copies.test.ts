import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Copies, Copy } from './copies.ts'
import type { KeyValue, Operation } from './etcd.ts'
import { Keys } from './keys.ts'

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
