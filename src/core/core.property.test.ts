import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { naiveStep, newModel } from '../testing/naive-model.ts'
import type { Acquire, Command } from './command.ts'
import { nextActMs, nextDeadlineMs } from './expire.ts'
import { RememberedInMemory, resourceInMemory } from './in-memory.ts'
import { builtInOperations, type NamespacePolicy } from './policy.ts'
import type { Resource } from './state.ts'
import { step } from './step.ts'
import { viewOf } from './view.ts'

const owner = fc.constantFrom('a', 'b', 'c')
/** Few operations in one run, so that they meet often; which ones is drawn for each run. */
const operation = fc.constantFrom('first', 'second')
const names = fc.uniqueArray(fc.constantFrom('pull', 'update', 'delete', 'lock', 'bake', 'unknown'), {
  minLength: 2,
  maxLength: 2,
})
const hold = fc.constantFrom('-', '1', '2')
/** One time in so many. */
const sometimes = <T>(value: fc.Arbitrary<T>, oneIn = 4) =>
  fc.oneof({ weight: oneIn - 1, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value })

const acquire: fc.Arbitrary<Command> = fc.record<Acquire>({
  type: fc.constant('acquire' as const),
  operation,
  node: owner,
  owner,
  hold,
  session: sometimes(fc.constantFrom('s1', 's2')),
  ttlMs: fc.constantFrom(1_000, 10_000),
  placeTtlMs: sometimes(fc.constantFrom(2_000, 20_000)),
  waitMs: sometimes(fc.constantFrom(0, 3_000)),
  revision: sometimes(fc.constantFrom('v1', 'v2')),
  disbelieve: sometimes(fc.oneof(fc.nat(8), fc.constant(Number.MAX_SAFE_INTEGER))),
  verified: sometimes(fc.boolean(), 12),
  reference: fc.constantFrom(undefined, false, false),
  dropReference: sometimes(fc.boolean()),
  queueing: sometimes(fc.boolean(), 8),
})

/** A release that fits whoever holds the operation now, or does not. */
type Loose = {
  type: 'fitting'
  command: 'release' | 'renew' | 'revoke' | 'progress'
  operation: string
  hold: string
  owner: string | undefined
  fence: number | undefined
  end: object
}
const fitting: fc.Arbitrary<Loose> = fc.record({
  type: fc.constant('fitting' as const),
  command: fc.constantFrom('release', 'release', 'release', 'renew', 'revoke', 'progress'),
  operation,
  hold,
  owner: sometimes(owner, 8),
  fence: sometimes(fc.nat(8), 8),
  end: fc.oneof(
    fc.constantFrom({ outcome: 'success' }, { outcome: 'success', result: 1 }, { outcome: 'success', effect: 'none' }),
    fc.constantFrom(
      { outcome: 'failure', error: 'x' },
      { outcome: 'failure', error: 'x', permanent: true },
      { outcome: 'cancelled' },
    ),
  ),
})

const other: fc.Arbitrary<Command> = fc.oneof(
  fc.record({ type: fc.constant('cancel' as const), operation, owner, hold }),
  fc.record({
    type: fc.constantFrom('session-lost' as const, 'leave' as const),
    session: fc.constantFrom('s1', 's2'),
    operation,
    owner,
  }),
  fc.record({
    type: fc.constantFrom(
      'add-reference' as const,
      'release-reference' as const,
      'release-reference' as const,
      'drop-node' as const,
    ),
    node: owner,
  }),
  fc.constantFrom({ type: 'expire' as const }, { type: 'recover' as const }),
)

const acts = fc.array(
  fc.record({
    afterMs: fc.oneof(
      { weight: 4, arbitrary: fc.constant(0) },
      fc.constantFrom(300, 999, 1_000, 5_000, 10_000, 60_000, 3_600_000),
    ),
    /** Another policy applies from here on. */
    changes: sometimes(fc.constant(true), 30),
    act: fc.oneof({ weight: 5, arbitrary: acquire }, { weight: 4, arbitrary: fitting }, other),
  }),
  { maxLength: 60, size: 'max' },
)

const policies: fc.Arbitrary<NamespacePolicy> = fc.record({
  exclusion: fc.constantFrom('operation' as const, 'resource' as const),
  queueing: fc.constantFrom(true, true, true, true, false),
  updateRequiresNoRef: fc.constant(false),
  claimMs: fc.constantFrom(500, 5_000),
  queueLimit: fc.constantFrom(2, 10_000),
  operations: fc.constantFrom(
    {
      ...builtInOperations,
      pull: { ...builtInOperations.pull!, attempts: 2 },
      lock: { ...builtInOperations.lock!, retryDelayMs: 700 },
      bake: { ...builtInOperations.lock!, keepMs: 10_000, keepRevisionMs: 10_000, contradicts: ['update'] },
    },
    { ...builtInOperations, pull: { ...builtInOperations.pull!, retryDelayMs: 2_000 } },
  ),
})

/** Where the draw leaves it open, a command fits whoever holds or waits now. */
function fitted(resource: Resource, act: Loose | Command): Command {
  if (act.type === 'cancel') {
    const waiter = resource.waiters.find(act.operation, act.owner)
    return { ...act, hold: waiter?.hold ?? act.hold }
  }
  if (act.type !== 'fitting') return act
  const { command, operation, end } = act
  const grant = resource.grants.get(operation)
  const own = act.owner === undefined ? grant?.holds.keys().next().value : undefined
  const owner = act.owner ?? grant?.owner ?? 'a'
  const fence = act.fence ?? grant?.fence
  return { type: command, operation, owner, hold: own ?? act.hold, fence, ...end, progress: 1 } as Command
}

const nothing = new RememberedInMemory<never>()

/** The earliest of all the moments that are written down anywhere in a resource. */
function earliestOf({ grants, waiters, pauses, kept, recent, answers, released }: Resource): number | undefined {
  const times: number[] = []
  const entries = [answers, released].map((each) => [...(each as RememberedInMemory<never>).entries()])
  const holds = [...grants.values()].map((grant) => [...grant.holds])
  const maps = [grants, pauses, kept, recent].map((map) => [...map])
  JSON.stringify([...maps, ...entries, holds, waiters.list(Infinity)], (key, value) => {
    if (['untilMs', 'claimByMs', 'expiresAtMs', 'waitUntilMs'].includes(key) && value !== undefined) times.push(value)
    return value
  })
  return times.length === 0 ? undefined : Math.min(...times)
}

/** Whether there is a reason to wait for an operation: nobody waits for one that is free. */
function isTaken({ resource, policy, operation }: { resource: Resource; policy: NamespacePolicy; operation: string }) {
  const { grants, pauses } = resource
  return policy.exclusion === 'resource'
    ? grants.size + pauses.size > 0
    : grants.has(operation) || pauses.has(operation)
}

test('the core answers every command as the naive model does, and ends up in the same state', () => {
  fc.assert(
    fc.property(fc.tuple(policies, policies), names, acts, ([now, later], [first, second], list) => {
      let [policy, next] = [now, later]
      const resource = resourceInMemory('default', 'r')
      const model = newModel()
      let nowMs = 1_000_000
      for (const { afterMs, changes, act: drawn } of list) {
        nowMs += afterMs
        if (changes) [policy, next] = [next, policy]
        const act =
          'operation' in drawn ? { ...drawn, operation: drawn.operation === 'first' ? first! : second! } : drawn
        const command = fitted(resource, act)
        const expected = naiveStep(model, command, { nowMs, policy, alive: () => true })
        const { reply } = step(resource, command, { nowMs, policy, fenceFloor: 0 })
        assert.deepEqual(reply, expected, JSON.stringify(command))
        const view = viewOf(resource)
        assert.deepEqual(view, JSON.parse(JSON.stringify(view)))
        assert.equal(view.fence, model.fence)
        assert.deepEqual(view.references, model.references)
        assert.deepEqual(
          view.waiters.map((each) => [each.operation, each.owner, each.revision]),
          model.line.map(({ op, owner, rev }) => [op, owner, rev]),
        )
        assert.deepEqual(
          view.grants.map((each) => [each.operation, each.owner, each.fence, each.holds, each.claimed]),
          model.held.map(({ op, owner, fence, holds, claimByMs }) => [op, owner, fence, holds.length, !claimByMs]),
        )
        assert.deepEqual(
          view.kept.map((each) => [each.operation, each.fence, each.result]).sort(),
          model.kept.map(({ op, fence, result }) => [op, fence, result]).sort(),
        )
        for (const waiting of resource.waiters.operations())
          assert.ok(isTaken({ resource, policy, operation: waiting }))
        assert.equal(nextDeadlineMs(resource), earliestOf(resource))
        const memories = { kept: new Map(), recent: new Map(), answers: nothing, released: nothing }
        assert.equal(nextActMs(resource), earliestOf({ ...resource, ...memories }))
      }
    }),
    {
      numRuns: Number(process.env.CORE_RUNS ?? 3_000),
      ...(process.env.CORE_SEED && { seed: Number(process.env.CORE_SEED) }),
    },
  )
})
