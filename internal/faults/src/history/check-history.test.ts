import {
  type Acquire,
  type AddressedEvent,
  type Command,
  type Context,
  defaultNamespacePolicy,
  defaultPolicy,
  resourceInMemory,
  step,
} from '@baton-lock/core'
import { expect, test } from 'vitest'
import { checkHistory } from './check-history.ts'
import type { StepRecord } from './history.ts'

/** The history of one resource, as a store would write it down. */
function newHistory() {
  const resource = resourceInMemory('default', 'r')
  const history: StepRecord[] = []
  const take = (command: Command, { sessionAlive, ...facts }: Partial<Context> = {}) => {
    const context = { nowMs: history.length, policy: defaultNamespacePolicy, fenceFloor: 0, sessionAlive, ...facts }
    const { reply, events } = step(resource, command, context)
    const record = { kind: 'step', namespace: 'default', resource: 'r', nowMs: context.nowMs, command, reply, events }
    history.push({ ...record, facts } as StepRecord)
    return reply
  }
  return { history, take, violations: () => checkHistory(history, { policy: defaultPolicy }) }
}

const ask = (node: string, owner: string, more: Partial<Acquire> = {}): Acquire => {
  return { type: 'acquire', operation: 'pull', node, owner, hold: '1', ttlMs: 30_000, ...more }
}
const fails: Command = { type: 'release', operation: 'pull', owner: 'o', hold: '1', outcome: 'failure', error: 'x' }

test('the same owner on several nodes is several actors, each with a place of its own', () => {
  const { take, violations } = newHistory()
  expect(take(ask('a', 'o'))).toMatchObject({ status: 'granted' })
  expect(take(ask('b', 'o'))).toEqual({ status: 'queued', position: 1 })
  expect(take(ask('c', 'o'))).toEqual({ status: 'queued', position: 2 })
  take(fails)
  expect(take(ask('b', 'o'))).toMatchObject({ status: 'granted', fence: 2 })
  take({ ...fails, outcome: 'success' } as Command)
  expect(take(ask('c', 'o'))).toMatchObject({ status: 'skip', fence: 2 })
  expect(violations()).toEqual([])
})

test('a hand-over to the same owner on another node than the first in line is found', () => {
  const { take, history, violations } = newHistory()
  take(ask('a', 'o'))
  take(ask('b', 'o'))
  take(ask('c', 'o'))
  take(fails)
  const last = history.at(-1)!
  const events = last.events.map(({ event, to }): AddressedEvent => {
    return { event: event.type === 'granted' ? { ...event, node: 'c' } : event, to }
  })
  history[history.length - 1] = { ...last, events }
  expect(violations()).toMatchObject([{ invariant: 6 }])
})

test('what was known of whoever gave a command is part of what is checked', () => {
  const { take, history, violations } = newHistory()
  take(ask('a', 'o'))
  expect(take(fails, { actsFor: ['b'] })).toEqual({ status: 'refused', code: 'forbidden' })
  expect(take(ask('b', 'o'), { mayQueue: false })).toEqual({ status: 'refused', code: 'queue-full' })
  expect(violations()).toEqual([])
  history[2] = { ...history[2]!, facts: undefined }
  expect(violations()).toMatchObject([{ invariant: 16 }])
})

test('an ask whose session is not alive is a step that changes nothing', () => {
  const { take, violations } = newHistory()
  const lost = take(ask('a', 'o', { session: 's' }), { sessionAlive: false })
  expect(lost).toEqual({ status: 'refused', code: 'session-lost' })
  expect(take(ask('a', 'o', { session: 's' }))).toMatchObject({ status: 'granted', fence: 1 })
  expect(violations()).toEqual([])
})

test('waiters of an operation that no row names are told of its success', () => {
  const { take, history, violations } = newHistory()
  const own = { operation: 'image-layer', classic: true }
  take(ask('a', 'a', own))
  take(ask('b', 'b', own))
  take({ ...fails, operation: 'image-layer', owner: 'a', outcome: 'success' } as Command)
  expect(violations()).toEqual([])
  const last = history.at(-1)!
  history[history.length - 1] = { ...last, events: last.events.filter(({ event }) => event.type !== 'told') }
  expect(violations().map(({ invariant }) => invariant)).toEqual([5, 8])
})
