import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { test } from 'vitest'
import { type Model, naiveStep, newModel } from '../testing/naive-model.ts'
import { acts, fitted, names, policies } from '../testing/unit/core-commands.ts'
import type { Acquire } from './command.ts'
import { nextActMs, nextDeadlineMs } from './expire.ts'
import { RememberedInMemory, resourceInMemory } from './in-memory.ts'
import { type PlaceChanges, placesOf, type SessionPlace } from './places.ts'
import type { NamespacePolicy } from './policy.ts'
import type { Resource } from './state.ts'
import { step } from './step.ts'
import { viewOf } from './view.ts'

const nothing = new RememberedInMemory<never>()
const MOMENTS = ['untilMs', 'claimByMs', 'expiresAtMs', 'waitUntilMs', 'progressDueMs']

/** The earliest of all the moments that are written down anywhere in a resource, but for when an answer is no longer given. */
function earliestOf(resource: Resource): number | undefined {
  const { grants, waiters, pauses, kept, recent, contradicted, answers, released } = resource
  const memories = [answers, released].map((each) => [...(each as RememberedInMemory<never>).entries()])
  return earliestIn([grants, pauses, kept, recent, contradicted, ...memories, waiters.list(Infinity)])
}

function earliestIn(value: unknown): number | undefined {
  if (value === null || typeof value !== 'object') return undefined
  let earliest: number | undefined
  const look = (moment: number | undefined) => {
    if (moment !== undefined && !(moment >= (earliest ?? Infinity))) earliest = moment
  }
  if (Symbol.iterator in value) for (const each of value as Iterable<unknown>) look(earliestIn(each))
  else
    for (const [key, each] of Object.entries(value))
      if (key !== 'kept') look(MOMENTS.includes(key) ? each : earliestIn(each))
  return earliest
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
    view.kept
      .map((each) => [each.operation, each.fence, each.untilMs, each.result, each.resultOmitted, each.traceparent])
      .sort(),
    model.kept
      .map((each) => [each.op, each.fence, each.untilMs, each.result, each.resultOmitted, each.traceparent])
      .sort(),
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
  let nextMs: number | undefined
  for (const [index, { afterMs, changes, act: drawn, sessionAlive = true, ...drawnFacts }] of list.entries()) {
    nowMs += afterMs
    if (changes) [policy, next] = [next, policy]
    const act = 'operation' in drawn ? { ...drawn, operation: drawn.operation === 'first' ? first! : second! } : drawn
    const command = fitted(resource, asked, act)
    if (command.type === 'acquire') asked.push(command)
    // These come from the store itself, which acts for everybody.
    const isOfSession = command.type === 'session-lost' || command.type === 'leave'
    const facts = { nowMs, policy, ...drawnFacts, actsFor: isOfSession ? undefined : drawnFacts.actsFor }
    const namesDead = 'session' in command && command.session !== undefined && !sessionAlive
    const expected = naiveStep(model, command, { ...facts, alive: () => !namesDead })
    // Some stores know when something is due, and some do not.
    const known = { nextDeadlineMs: index % 2 === 0 ? undefined : (nextMs ?? Infinity) }
    const taken = step(resource, command, { ...facts, ...known, fenceFloor: 0, sessionAlive: !namesDead })
    nextMs = taken.nextDeadlineMs
    if (!isDeepStrictEqual(taken.reply, expected)) assert.deepEqual(taken.reply, expected, JSON.stringify(command))
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
const timeout = Math.max(60_000, 60 * numRuns)

test('the core answers every command as the naive model does, and ends up in the same state', { timeout }, () => {
  fc.assert(fc.property(fc.tuple(policies, policies), names, acts, checkRun), { numRuns, ...seed })
})
