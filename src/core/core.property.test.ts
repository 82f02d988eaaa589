import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { type Model, naiveStep, newModel } from '../testing/naive-model.ts'
import type { Acquire, Command } from './command.ts'
import { nextActMs, nextDeadlineMs } from './expire.ts'
import { RememberedInMemory, resourceInMemory } from './in-memory.ts'
import { type PlaceChanges, placesOf, type SessionPlace } from './places.ts'
import { builtInOperations, type NamespacePolicy, type OperationPolicy } from './policy.ts'
import type { Json } from './reply.ts'
import type { Grant, Resource } from './state.ts'
import { step } from './step.ts'
import { viewOf } from './view.ts'

/** Few of each, and mostly alike: an actor is the pair. */
const node = fc.constantFrom('a', 'b')
const actor = fc.constantFrom(
  { node: 'a', owner: 'a' },
  { node: 'a', owner: 'a' },
  { node: 'b', owner: 'b' },
  { node: 'b', owner: 'b' },
  { node: 'b', owner: 'a' },
  { node: 'a', owner: 'b' },
)
const owner = actor.map((each) => each.owner)
/** Few operations in one run, so that they meet often; which ones is drawn for each run. */
const operation = fc.constantFrom('first', 'second')
const names = fc.oneof(fc.constantFrom(['pull', 'delete'], ['pull', 'wipe']), {
  weight: 2,
  arbitrary: fc.uniqueArray(fc.constantFrom('pull', 'update', 'delete', 'lock', 'bake', 'wipe', 'unknown'), {
    minLength: 2,
    maxLength: 2,
  }),
})
const hold = fc.constantFrom('-', '-', '1', '1', '2')
/** One time in so many. */
const sometimes = <T>(value: fc.Arbitrary<T>, oneIn = 4) =>
  fc.oneof({ weight: oneIn - 1, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value })
const mostly = <T>(value: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 1, arbitrary: fc.constant(undefined) }, { weight: 2, arbitrary: value })

const acquire: fc.Arbitrary<Command> = fc
  .record<Omit<Acquire, 'node' | 'owner'>>({
    type: fc.constant('acquire' as const),
    operation,
    hold,
    session: sometimes(fc.constantFrom('s1', 's2')),
    ttlMs: fc.constantFrom(1_000, 10_000, 100_000),
    placeTtlMs: sometimes(fc.constantFrom(2_000, 20_000)),
    waitMs: sometimes(fc.constantFrom(0, 3_000, 3_000, 30_000)),
    revision: sometimes(fc.constantFrom('v1', 'v2'), 6),
    disbelieve: sometimes(fc.oneof(fc.nat(8), fc.constant(Number.MAX_SAFE_INTEGER)), 6),
    verified: sometimes(fc.boolean(), 12),
    verifies: sometimes(fc.boolean(), 6),
    reference: fc.constantFrom(undefined, false, false),
    dropReference: sometimes(fc.boolean()),
    queueing: sometimes(fc.boolean(), 8),
    classic: sometimes(fc.boolean(), 2),
  })
  .chain((ask) => actor.map((each) => ({ ...ask, ...each })))

/** A release that fits whoever holds the operation now, or does not. */
type Loose = {
  type: 'fitting'
  command: 'release' | 'renew' | 'revoke' | 'progress'
  operation: string
  hold: string
  owner: string | undefined
  /** Absent: the holder's. Empty: the command names none. */
  node: string | undefined
  fence: number | undefined
  progress: Json
  end: object
}
const fitting: fc.Arbitrary<Loose> = fc.record({
  type: fc.constant('fitting' as const),
  command: fc.constantFrom('release', 'release', 'release', 'release', 'release', 'renew', 'revoke', 'progress'),
  operation,
  hold,
  owner: sometimes(owner, 8),
  node: mostly(fc.constantFrom('', '', 'a', 'b')),
  fence: sometimes(fc.nat(8), 8),
  progress: fc.constantFrom(1, null, { bytes: 2 }),
  end: fc.constantFrom(
    { outcome: 'success' },
    { outcome: 'success' },
    { outcome: 'success', result: 1 },
    { outcome: 'success', effect: 'none' },
    { outcome: 'failure', error: 'x' },
    { outcome: 'failure', error: 'x', permanent: true },
    { outcome: 'cancelled' },
  ),
})

/** One of the last asks once more: a claim, a duplicate, or an ask that says something else now. */
type Again = { type: 'again'; back: number; more: object }
const again: fc.Arbitrary<Again> = fc.record({
  type: fc.constant('again' as const),
  back: fc.nat(3),
  more: fc.constantFrom({}, {}, {}, { verified: true }, { disbelieve: 9 }, { revision: 'v1' }, { session: 's1' }),
})

/** The one that asked then has heard its answer, the newest or one that was given so many fences ago. */
type Heard = { type: 'heard-by'; back: number; named: boolean; fencesAgo: number }
const heard: fc.Arbitrary<Heard> = fc.record({
  type: fc.constant('heard-by' as const),
  back: fc.nat(5),
  named: fc.boolean(),
  fencesAgo: fc.constantFrom(0, 0, 0, 1, 2),
})

const other: fc.Arbitrary<Command> = fc.oneof(
  fc.record({ type: fc.constant('cancel' as const), operation, node: sometimes(node, 2), owner, hold }),
  fc.record({
    type: fc.constantFrom('session-lost' as const, 'leave' as const),
    session: fc.constantFrom('s1', 's2'),
    operation,
    node: sometimes(node, 2),
    owner,
  }),
  fc.record({
    type: fc.constantFrom(
      'add-reference' as const,
      'release-reference' as const,
      'release-reference' as const,
      'drop-node' as const,
    ),
    node,
  }),
  fc.constantFrom({ type: 'expire' as const }, { type: 'recover' as const }),
)

const acts = fc.array(
  fc.record({
    afterMs: fc.oneof(
      { weight: 9, arbitrary: fc.constant(0) },
      fc.constantFrom(300, 999, 1_000, 1_000, 5_000, 10_000, 10_000, 60_000, 3_600_000),
    ),
    /** Another policy applies from here on. */
    changes: sometimes(fc.constant(true), 30),
    act: fc.oneof(
      { weight: 8, arbitrary: acquire },
      { weight: 3, arbitrary: again },
      { weight: 2, arbitrary: heard },
      { weight: 5, arbitrary: fitting },
      { weight: 2, arbitrary: other },
    ),
    actsFor: sometimes(fc.constantFrom(['a'], ['b'], ['b', 'a'], []), 8),
    mayQueue: sometimes(fc.boolean(), 12),
    /** Of the session that the command names, where it names one. */
    sessionAlive: sometimes(fc.boolean(), 12),
  }),
  { minLength: 1, maxLength: 60, size: 'max' },
)

const { pull, lock } = builtInOperations as Record<'pull' | 'lock', OperationPolicy>

type Act = Loose | Again | Heard | Command

const policies: fc.Arbitrary<NamespacePolicy> = fc.record({
  exclusion: fc.constantFrom('operation' as const, 'resource' as const),
  queueing: fc.constantFrom(true, true, true, true, true, true, true, false),
  updateRequiresNoRef: fc.constantFrom(false, false, true),
  claimMs: fc.constantFrom(500, 5_000),
  queueLimit: fc.constantFrom(2, 10_000),
  operations: fc.constantFrom(
    {
      ...builtInOperations,
      pull: { ...pull, attempts: 2 },
      lock: { ...lock, retryDelayMs: 700 },
      bake: { ...lock, keepMs: 10_000, keepRevisionMs: 10_000, contradicts: ['update'] },
      wipe: { ...pull, dropsReferences: true, contradicts: ['pull'] },
    },
    {
      ...builtInOperations,
      pull: { ...pull, retryDelayMs: 2_000, contradicts: ['delete', 'wipe'] },
      wipe: { ...lock, dropsReferences: true, waitersOnSuccess: 'skip' as const, contradicts: ['bake'] },
    },
  ),
})

/** Where the draw leaves it open, a command fits whoever holds or waits now. */
function fitted(resource: Resource, asked: readonly Acquire[], act: Act): Command {
  const { waiters, fence: lastFence } = resource
  if (act.type === 'again') {
    const last = asked.at(-1 - act.back)
    return last ? { ...last, ...act.more } : { type: 'expire' }
  }
  if (act.type === 'heard-by') {
    const askers = asked.slice(-1 - act.back).map(({ operation, node, owner }) => {
      const named = act.named ? { node } : {}
      return { operation, ...named, owner, fence: Math.max(0, lastFence - act.fencesAgo) }
    })
    return { type: 'heard', askers: askers.slice(0, 2) }
  }
  if (act.type === 'cancel') {
    const waiter = waiters.ofOwner(act.operation, act.owner).at(-1)
    return { ...act, hold: waiter?.hold ?? act.hold }
  }
  if (act.type !== 'fitting') return act
  return fittedToGrant(resource, asked, act)
}

function fittedToGrant({ grants }: Resource, asked: readonly Acquire[], act: Loose): Command {
  const { command, end, progress } = act
  const grant = grants.get(act.operation) ?? (act.owner === undefined ? [...grants.values()].at(-1) : undefined)
  const operation = grant?.operation ?? act.operation
  // Where nobody has anything to release, the last one asks once more; a grant is claimed before it is released.
  const last = grant ? asked.findLast((each) => isOf(each, grant)) : asked.at(-1)
  if (last && act.owner === undefined && (!grant || grant.holds.size === 0)) return last
  const own = act.owner === undefined ? grant?.holds.keys().next().value : undefined
  const owner = act.owner ?? grant?.owner ?? 'a'
  const fence = act.fence ?? grant?.fence
  const node = act.node === '' || command === 'revoke' ? undefined : (act.node ?? grant?.node)
  return { type: command, operation, node, owner, hold: own ?? act.hold, fence, ...end, progress } as Command
}

const isOf = (ask: Acquire, { operation, node, owner, hold }: Grant) =>
  ask.operation === operation && ask.node === node && ask.owner === owner && ask.hold === hold

const nothing = new RememberedInMemory<never>()
const MOMENTS = ['untilMs', 'claimByMs', 'expiresAtMs', 'waitUntilMs', 'progressDueMs']

/** The earliest of all the moments that are written down anywhere in a resource, but for when an answer is no longer given. */
function earliestOf(resource: Resource): number | undefined {
  const { grants, waiters, pauses, kept, recent, contradicted, answers, released } = resource
  const times: number[] = []
  const entries = [answers, released].map((each) => [...(each as RememberedInMemory<never>).entries()])
  const holds = [...grants.values()].map((grant) => [...grant.holds])
  const maps = [grants, pauses, kept, recent, contradicted].map((map) => [...map])
  JSON.stringify([...maps, ...entries, holds, waiters.list(Infinity)], (key, value) => {
    if (MOMENTS.includes(key) && value !== undefined) times.push(value)
    return key === 'kept' ? undefined : value
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

function isSameState(resource: Resource, model: Model): void {
  const view = viewOf(resource)
  assert.deepEqual(view, JSON.parse(JSON.stringify(view)))
  assert.equal(view.fence, model.fence)
  assert.deepEqual(view.references, model.references)
  assert.deepEqual(
    view.waiters.map((each) => [each.operation, each.node, each.owner, each.revision]),
    model.line.map(({ op, node, owner, rev }) => [op, node, owner, rev]),
  )
  assert.deepEqual(
    view.grants.map((each) => [each.operation, each.node, each.owner, each.fence, each.holds, each.claimed]),
    model.held.map(({ op, node, owner, fence, holds, claimByMs }) => [
      op,
      node,
      owner,
      fence,
      holds.length,
      !claimByMs,
    ]),
  )
  assert.deepEqual(
    view.grants.map((each) => each.progress),
    model.held.map(({ progress }) => progress),
  )
  assert.deepEqual(
    view.kept.map((each) => [each.operation, each.fence, each.result]).sort(),
    model.kept.map(({ op, fence, result }) => [op, fence, result]).sort(),
  )
}

const nameOfPlace = ({ session, operation, node, owner }: SessionPlace) => [session, operation, node, owner].join(' ')

/** What a step says of places is all that is needed to know them. */
function changePlaces(places: Set<string>, { gained, lost }: PlaceChanges): void {
  const both = gained.map(nameOfPlace).filter((place) => lost.map(nameOfPlace).includes(place))
  assert.deepEqual(both, [], 'gained and lost at once')
  for (const place of lost.map(nameOfPlace)) assert.ok(places.delete(place), `lost without having it: ${place}`)
  for (const place of gained.map(nameOfPlace)) {
    assert.ok(!places.has(place), `gained twice: ${place}`)
    places.add(place)
  }
}

type Acts = typeof acts extends fc.Arbitrary<infer List> ? List : never
type Run = [policies: [NamespacePolicy, NamespacePolicy], names: readonly string[], list: Acts]

function checkRun(...[[now, later], [first, second], list]: Run): void {
  let [policy, next] = [now, later]
  const resource = resourceInMemory('default', 'r')
  const model = newModel()
  const places = new Set<string>()
  const asked: Acquire[] = []
  let nowMs = 1_000_000
  for (const { afterMs, changes, act: drawn, actsFor, mayQueue, sessionAlive = true } of list) {
    nowMs += afterMs
    if (changes) [policy, next] = [next, policy]
    const act = 'operation' in drawn ? { ...drawn, operation: drawn.operation === 'first' ? first! : second! } : drawn
    const command = fitted(resource, asked, act)
    if (command.type === 'acquire') asked.push(command)
    // These come from the store itself, which acts for everybody.
    const isOfSession = command.type === 'session-lost' || command.type === 'leave'
    const facts = { nowMs, policy, actsFor: isOfSession ? undefined : actsFor, mayQueue }
    const namesDead = 'session' in command && command.session !== undefined && !sessionAlive
    const expected = naiveStep(model, command, { ...facts, alive: () => !namesDead })
    const taken = step(resource, command, { ...facts, fenceFloor: 0, sessionAlive: !namesDead })
    assert.deepEqual(taken.reply, expected, JSON.stringify(command))
    isSameState(resource, model)
    for (const waiting of resource.waiters.operations()) assert.ok(isTaken({ resource, policy, operation: waiting }))
    changePlaces(places, taken.places)
    assert.deepEqual([...places].sort(), placesOf(resource).map(nameOfPlace).sort())
    assert.equal(taken.nextDeadlineMs, earliestOf(resource))
    assert.equal(taken.nextDeadlineMs, nextDeadlineMs(resource))
    const memories = {
      kept: new Map(),
      recent: new Map(),
      contradicted: new Map(),
      answers: nothing,
      released: nothing,
    }
    assert.equal(taken.nextActMs, earliestOf({ ...resource, ...memories }))
    assert.equal(taken.nextActMs, nextActMs(resource))
  }
}

const numRuns = Number(process.env.CORE_RUNS ?? 3_000)
const seed = process.env.CORE_SEED && { seed: Number(process.env.CORE_SEED) }
const timeout = Math.max(30_000, 20 * numRuns)

test('the core answers every command as the naive model does, and ends up in the same state', { timeout }, () => {
  fc.assert(fc.property(fc.tuple(policies, policies), names, acts, checkRun), { numRuns, ...seed })
})
