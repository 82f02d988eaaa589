import fc from 'fast-check'
import {
  type Acquire,
  builtInOperations,
  type Command,
  type Grant,
  type Json,
  type NamespacePolicy,
  type OperationPolicy,
  type Resource,
} from '../../core/index.ts'

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
export const names = fc.oneof(fc.constantFrom(['pull', 'delete'], ['pull', 'wipe']), {
  weight: 2,
  arbitrary: fc.uniqueArray(fc.constantFrom('pull', 'update', 'delete', 'lock', 'once', 'bake', 'wipe', 'unknown'), {
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
    { outcome: 'success', keepMs: 10_000, resultOmitted: true },
    { outcome: 'success', keepMs: 0, result: 2 },
    { outcome: 'success', keepMs: 10_000, traceparent: 'span 1' },
    { outcome: 'failure', error: 'x' },
    { outcome: 'failure', error: 'x', permanent: true },
    { outcome: 'failure', error: 'x', traceparent: 'span 2' },
    { outcome: 'failure', error: 'x', permanent: true, traceparent: 'span 3' },
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
  fc.record({ type: fc.constant('acknowledge' as const), operation, node: sometimes(node, 2), owner, hold }),
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
  fc.record({ type: fc.constant('forget' as const), operation }),
)

/** What happens to a resource, one after another. */
export const acts = fc.array(
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
    spares: sometimes(fc.boolean(), 12),
    hasRoom: sometimes(fc.boolean(), 12),
    mayReference: sometimes(fc.boolean(), 12),
    /** Of the session that the command names, where it names one. */
    sessionAlive: sometimes(fc.boolean(), 12),
  }),
  { minLength: 1, maxLength: 60, size: 'max' },
)

const { pull, lock } = builtInOperations as Record<'pull' | 'lock', OperationPolicy>

type Act = Loose | Again | Heard | Command

export const policies: fc.Arbitrary<NamespacePolicy> = fc.record({
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
export function fitted(resource: Resource, asked: readonly Acquire[], act: Act): Command {
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
