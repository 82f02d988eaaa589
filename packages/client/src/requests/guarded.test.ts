import type { Reply } from '@baton-lock/core'
import { expect, test } from 'vitest'
import { changeReference, dropNode, forget, revoke } from './guarded.ts'
import type { Sender } from './sender.ts'

const at = { namespace: 'default', resource: 'r' }
const key = { ...at, operation: 'once' }

/** Answers one request after another, and keeps what was asked. */
function senderWith(...replies: object[]) {
  const asked: { type: string; seen?: number; fence?: number }[] = []
  const query = async (request: (typeof asked)[number]) => {
    asked.push(request)
    return replies.shift() as Reply
  }
  return { sender: { query } as unknown as Sender, asked }
}

const view = (more: object = {}) => ({
  status: 'resource',
  resource: { ...at, grants: [], kept: [], references: [], ...more },
  nowMs: 0,
})

test('a reference is changed with the number that was told last', async () => {
  const { sender, asked } = senderWith(
    { status: 'changed', seen: 7 },
    { status: 'changed', seen: 9 },
    { status: 'references', count: 2 },
  )
  expect(await changeReference(sender, 'add-reference', { ...at, node: 'a' })).toBe(2)
  expect(asked.map(({ seen }) => seen)).toEqual([0, 7, 9])
})

test('a release leaves a use that came after it was called', async () => {
  const { sender, asked } = senderWith(
    { status: 'changed', seen: 7 },
    { status: 'changed', seen: 9 },
    view({ references: ['a', 'b'] }),
  )
  expect(await changeReference(sender, 'release-reference', { ...at, node: 'a' })).toBe(2)
  expect(asked.map(({ type, seen }) => [type, seen])).toEqual([
    ['release-reference', 0],
    ['release-reference', 7],
    ['get-resource', undefined],
  ])
})

test('forget means the success that is kept when it is called', async () => {
  const { sender, asked } = senderWith(
    view({
      kept: [
        { operation: 'once', fence: 4 },
        { operation: 'pull', fence: 5 },
      ],
    }),
    {
      status: 'forgotten',
      kept: false,
    },
  )
  expect(await forget(sender, key)).toBe(true)
  expect(asked[1]).toMatchObject({ type: 'forget', fence: 4 })
})

test('with nothing kept, forget forgets nothing that comes meanwhile', async () => {
  const { sender, asked } = senderWith(view(), { status: 'forgotten', kept: false })
  expect(await forget(sender, key)).toBe(false)
  expect(asked[1]).toMatchObject({ type: 'forget', fence: 0 })
})

test('revoke means the grant that is live when it is called, or the one with the fence that it names', async () => {
  const revoked = { status: 'revoked', node: 'b', fence: 3 }
  const { sender, asked } = senderWith(view({ grants: [{ operation: 'once', fence: 3 }] }), revoked)
  expect(await revoke(sender, key)).toEqual({ node: 'b', fence: 3 })
  expect(asked[1]).toMatchObject({ type: 'revoke', fence: 3 })
  const named = senderWith(revoked)
  await revoke(named.sender, key, 3)
  expect(named.asked).toMatchObject([{ type: 'revoke', fence: 3 }])
  const free = senderWith(view(), revoked)
  await revoke(free.sender, key)
  expect(free.asked[1]).toMatchObject({ type: 'revoke', fence: 0 })
})

test('a dead node is dropped from what it references and what it has done, and nowhere else', async () => {
  const kept = [
    { operation: 'pull', fence: 2, node: 'dead' },
    { operation: 'once', fence: 3, node: 'alive' },
  ]
  const { sender, asked } = senderWith(
    {
      status: 'resources',
      resources: [
        { ...view({ kept, references: ['dead', 'alive'] }).resource },
        { ...view({ references: ['alive'] }).resource, resource: 'held' },
      ],
      nowMs: 0,
    },
    { status: 'forgotten', kept: true },
    { status: 'changed', seen: 4 },
    { status: 'references', count: 1 },
  )
  expect(await dropNode(sender, 'dead', undefined)).toBe(1)
  expect(asked.slice(1)).toMatchObject([
    { type: 'forget', operation: 'pull', fence: 2 },
    { type: 'release-reference', node: 'dead', seen: 0 },
    { type: 'release-reference', node: 'dead', seen: 4 },
  ])
})
