import { defaultPolicy } from '@baton-lock/core'
import { expect, test } from 'vitest'
import { UnknownOutcome } from '../store.ts'
import type { Backend, Transaction } from './backend.ts'
import { Deliveries } from './deliveries.ts'
import { Steps } from './steps.ts'
import { StoredPolicy } from './stored-policy.ts'

const address = { namespace: 'default', resource: 'r' }
const letter = { ...address, atMs: 2, dueInMs: undefined, events: [] }

test('where it is not known whether a step was taken, that is said before what came after it', async () => {
  const told: string[] = []
  const deliveries = new Deliveries(() => told.push('what another process did next'))
  const resource = { nowMs: 1, text: undefined, fence: 0, fenceFloor: 0, parts: [{ memories: [] }, { waiters: [] }] }
  const transaction: Pick<Transaction, 'open' | 'policy' | 'commit'> = {
    open: async () => ({ policyVersion: 1, hearers: [], alive: new Set(), resources: [resource] }),
    policy: async () => ({ version: 1, text: JSON.stringify(defaultPolicy) }),
    async commit() {
      deliveries.receive(letter)
      throw new UnknownOutcome('lost')
    },
  }
  const backend = { transaction: (work) => work(transaction as Transaction) } as Pick<Backend, 'transaction'> as Backend
  const missed = () => told.push('a gap')
  const policy = new StoredPolicy(backend)
  const steps = new Steps(backend, { policy, deliveries, missed, isHere: () => true, recordHistory: false })
  const command = { type: 'acquire', operation: 'lock', node: 'a', owner: 'a', hold: 'h', ttlMs: 60_000 } as const
  await expect(steps.run({ address, given: [{ command }], byMs: 1 })).rejects.toThrow(UnknownOutcome)
  expect(told).toEqual(['a gap', 'what another process did next'])
})
