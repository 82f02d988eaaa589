import { expect, test } from 'vitest'
import type { StoreEvent } from '../stores/store.ts'
import { History } from './history.ts'

const event = (seq: number): StoreEvent => ({
  type: 'referenced',
  node: `n${seq}`,
  namespace: 'default',
  resource: 'r',
  seq,
  atMs: 0,
})
const nodes = (missed: ReturnType<History['since']>) => missed?.map(([wire]) => ('node' in wire ? wire.node : ''))

test('who comes back is told exactly the rest', () => {
  const history = new History(10, '0')
  const ids = [1, 2, 3].map((seq) => history.add(event(seq)))
  expect(nodes(history.since(ids[0]!, { of: 'all' }))).toEqual(['n2', 'n3'])
  expect(history.since(ids[2]!, { of: 'all' })).toEqual([])
  expect(history.since(ids[0]!, { of: 'all' })?.map(([, id]) => id)).toEqual(ids.slice(1))
})

test('who has been away for too long, or comes from another process, is told that it has missed something', () => {
  const history = new History(10, '0')
  const first = history.lastId
  const ids = Array.from({ length: 100 }, (_, seq) => history.add(event(seq)))
  expect(history.since(first, { of: 'all' })).toBeUndefined()
  expect(nodes(history.since(ids[95]!, { of: 'all' }))).toEqual(['n96', 'n97', 'n98', 'n99'])
  for (const id of ['zz-5', '', 'x', `${first}9999`, '-1', '0--5', '0-1.5'])
    expect(history.since(id, { of: 'all' })).toBeUndefined()
})

test('who heard the last event before a gap has missed something all the same', () => {
  const history = new History(10, '0')
  const last = history.add(event(1))
  history.forgetAll()
  expect(history.since(last, { of: 'all' })).toBeUndefined()
  const current = history.lastId
  expect(history.since(current, { of: 'all' })).toEqual([])
  history.add(event(2))
  expect(nodes(history.since(current, { of: 'all' }))).toEqual(['n2'])
  expect(history.since(last, { of: 'all' })).toBeUndefined()
})

test('events that name thousands do not fill the memory', () => {
  const history = new History(100, '0')
  const askers = Array.from({ length: 4_000 }, (_, index) => ({
    owner: `o${index}`,
    node: 'n',
    hold: '1',
    session: undefined,
  }))
  const told = { type: 'told', operation: 'pull', askers, answer: { status: 'skip', fence: 1 } } as const
  const ids = Array.from({ length: 50 }, (_, seq) =>
    history.add({ ...told, namespace: 'default', resource: 'r', seq, atMs: 0 }),
  )
  expect(history.since(ids[40]!, { of: 'all' })).toBeUndefined()
  expect(history.since(ids[48]!, { of: 'all' })).toHaveLength(1)
})
