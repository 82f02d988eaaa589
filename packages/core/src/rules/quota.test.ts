import { expect, test } from 'vitest'
import type { Acquire } from '../command.ts'
import { CORE_LIMITS } from '../limits.ts'
import { defaultNamespacePolicy } from '../policy.ts'
import { resourceInMemory } from '../state/in-memory.ts'
import { step } from '../step.ts'
import type { Context, Facts } from '../turn.ts'

function world(more: Partial<Context> = {}) {
  const resource = resourceInMemory('default', 'r')
  const context: Context = { nowMs: 1_000, policy: defaultNamespacePolicy, fenceFloor: 0, ...more }
  const ask = (said: Partial<Acquire> = {}, facts: Facts = {}) => {
    const command: Acquire = {
      type: 'acquire',
      operation: 'lock',
      node: 'n',
      owner: 'o',
      hold: 'h',
      ttlMs: 30_000,
      ...said,
    }
    return step(resource, command, { ...context, ...facts }).reply
  }
  const refer = (node: string, facts: Facts = {}) =>
    step(resource, { type: 'add-reference', node }, { ...context, ...facts }).reply
  return { ask, refer }
}

const tooMuch = { status: 'refused', code: 'quota-exceeded' }

test('one owner has so many holds of a grant and no more; those that it has it may ask for again', () => {
  const { ask } = world()
  for (let index = 0; index < CORE_LIMITS.holds; index++)
    expect(ask({ hold: `h${index}` })).toMatchObject({ status: 'granted', holds: index + 1 })
  expect(ask({ hold: 'more' })).toEqual(tooMuch)
  expect(ask({ hold: 'h7' })).toMatchObject({ status: 'granted', holds: CORE_LIMITS.holds })
})

test('so many nodes use a resource and no more, however they come to it; those that do may say so again', () => {
  const { ask, refer } = world()
  for (let index = 0; index < CORE_LIMITS.references; index++) refer(`n${index}`)
  expect(refer('more')).toEqual(tooMuch)
  expect(ask({ operation: 'pull', node: 'more' })).toEqual(tooMuch)
  expect(ask({ operation: 'pull', node: 'more', reference: false })).toMatchObject({ status: 'skip' })
  expect(ask({ operation: 'pull', node: 'n7' })).toMatchObject({ status: 'skip' })
  expect(refer('n7')).toMatchObject({ count: CORE_LIMITS.references })
})

test('with tokens, a node has one half of a queue at most, and without them it is only a name', () => {
  const { ask } = world({ policy: { ...defaultNamespacePolicy, queueLimit: 5 } })
  ask({ node: 'holder', owner: 'holder' })
  const token = { actsFor: ['n', 'm'] }
  for (const owner of ['a', 'b', 'c']) expect(ask({ owner }, token)).toMatchObject({ status: 'queued' })
  expect(ask({ owner: 'd' }, token)).toEqual(tooMuch)
  expect(ask({ owner: 'c' }, token)).toMatchObject({ status: 'queued', position: 3 })
  expect(ask({ owner: 'd', node: 'm' }, token)).toMatchObject({ status: 'queued', position: 4 })
  expect(ask({ owner: 'e' })).toMatchObject({ status: 'queued', position: 5 })
})

test('a node without room keeps what it has, claims what it was given, and takes nothing new', () => {
  const { ask } = world()
  const full = { hasRoom: false }
  expect(ask({}, full)).toEqual(tooMuch)
  ask()
  ask({ owner: 'waits', hold: 'w' })
  expect(ask({ hold: 'again' }, full)).toEqual(tooMuch)
  expect(ask({}, full)).toMatchObject({ status: 'granted', holds: 1 })
  expect(ask({ owner: 'waits', hold: 'w' }, full)).toMatchObject({ status: 'queued' })
  expect(ask({ owner: 'other' }, full)).toEqual(tooMuch)
})

test('a node that may use nothing more may still do what is no use', () => {
  const { ask, refer } = world()
  const full = { mayReference: false }
  expect(refer('n', full)).toEqual(tooMuch)
  expect(ask({ operation: 'pull' }, full)).toEqual(tooMuch)
  expect(ask({ operation: 'lock' }, full)).toMatchObject({ status: 'granted' })
})
