import { systemTiming } from '@baton-lock/store/timing'
import { expect, test } from 'vitest'
import type { KeyValue, Operation, Outcome } from '../etcd.ts'
import { Keys } from '../keys.ts'
import type { Mailbox } from '../messages/mailbox.ts'
import { StoreState } from './store-state.ts'

const keys = new Keys('x/')
const kv = (key: string, value = ''): KeyValue => {
  return { key, value, createRevision: 1, modRevision: 1, version: 1, lease: 0 }
}
const found = (...kvs: KeyValue[]): Outcome => ({ range: { kvs, count: kvs.length } })
const isRange = (operation: Operation) => 'range' in operation
const CHANGE: Operation = { put: { key: keys.tick, value: '' } }

/** What a process knows whose clock can be set, and whose letters can be late. */
function newState() {
  const world = { nowMs: 0, areLettersLate: false }
  const mailbox = {
    listening: { range: { key: 'bell' } },
    readTo: 0,
    heard(_: unknown, revision: number) {
      if (!world.areLettersLate) mailbox.readTo = Math.max(mailbox.readTo, revision)
    },
  }
  const state = new StoreState(keys, mailbox as unknown as Mailbox, { ...systemTiming, monoMs: () => world.nowMs })
  /** One commit; returns how many reads went along. */
  const commit = (revision: number, hearers: readonly string[], ...operations: Operation[]) => {
    const along = state.inCommit(operations)
    expect(along.operations.every(isRange)).toBe(true)
    const all = [found(kv(keys.meta, 'm')), found(...hearers.map((name) => kv(`${keys.hearers.key}${name}`))), found()]
    along.committed(all.slice(-along.operations.length), revision)
    return along.operations.length
  }
  return { world, state, commit }
}

test('a commit reads the bell alone where all else was read lately, and knows it as of itself', () => {
  const { world, state, commit } = newState()
  expect(commit(5, ['a'], CHANGE)).toBe(3)
  world.nowMs = 400
  expect(commit(9, [], CHANGE)).toBe(1)
  expect(state.fresh).toMatchObject({ revision: 9, hearers: { count: 1 } })
})

test('while letters are still to come, nothing is known beyond the last that were received', () => {
  const { world, state, commit } = newState()
  commit(5, ['a'], CHANGE)
  world.areLettersLate = true
  commit(9, [], CHANGE)
  expect(state.fresh?.revision).toBe(5)
  world.nowMs = 900
  commit(11, [], CHANGE)
  world.nowMs = 1_800
  expect(state.fresh).toMatchObject({ revision: 5, hearers: { count: 0 } })
  world.areLettersLate = false
  commit(12, [], CHANGE)
  expect(state.fresh?.revision).toBe(12)
})

test('however many commits there are, a hearer that has gone is noticed within a second', () => {
  const { world, state, commit } = newState()
  commit(5, ['a'], CHANGE)
  const counts: (number | undefined)[] = []
  for (let count = 1; count <= 10; count++) {
    world.nowMs = count * 100
    commit(5 + count, [], CHANGE)
    counts.push(state.fresh?.hearers.count)
  }
  expect(counts).toEqual([1, 1, 1, 1, 0, 0, 0, 0, 0, 0])
})

test('a commit that writes the meta key reads what it has become', () => {
  const { commit } = newState()
  commit(5, [], CHANGE)
  expect(commit(6, [], CHANGE, { put: { key: keys.meta, value: 'n' } })).toBe(3)
  expect(commit(7, [], CHANGE)).toBe(1)
})

test('one that comes late takes nothing back', () => {
  const { state, commit } = newState()
  commit(9, [], CHANGE)
  commit(7, [], CHANGE)
  expect(state.fresh?.revision).toBe(9)
})
