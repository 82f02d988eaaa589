import { expect, test } from 'vitest'
import type { ChangeRecord, StepRecord } from './history.ts'
import { checkLateCopies } from './late-copies.ts'

const at = { namespace: 'default', resource: 'r' }
const call = (what: ChangeRecord['what'], more: Partial<ChangeRecord> = {}): ChangeRecord => ({
  kind: 'change',
  nowMs: 0,
  client: 'a',
  call: 1,
  what,
  type: 'release-reference',
  resource: 'r',
  operation: 'pull',
  node: 'a',
  ...more,
})
const released = (node = 'a'): StepRecord => ({
  kind: 'step',
  ...at,
  nowMs: 0,
  command: { type: 'release-reference', node },
  reply: { status: 'references', count: 0 },
  events: [{ event: { type: 'dereferenced', ...at, atMs: 0, node }, to: [] }],
})

test('a call may take effect until it has returned, and for ever where it never did', () => {
  expect(checkLateCopies([call('began'), released(), released()])).toEqual([])
  expect(checkLateCopies([call('began'), released(), call('done'), released()])).toMatchObject([{ resource: 'r' }])
})

test('a call of another node or resource causes nothing', () => {
  expect(checkLateCopies([call('began'), released('b')])).toHaveLength(1)
  expect(checkLateCopies([call('began', { resource: 's' }), released()])).toHaveLength(1)
  expect(checkLateCopies([call('began', { type: 'drop-node', resource: 's' }), released()])).toEqual([])
})

test('a step without effect needs no call', () => {
  expect(checkLateCopies([{ ...released(), events: [] }])).toEqual([])
})
