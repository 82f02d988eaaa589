import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import { type Model, naiveStep, newModel } from '@baton-lock/faults/model/naive-model'
import { type Random, seededRandom } from '@baton-lock/store/conformance/random'
import { type Cast, drawCommand, drawFacts } from '@baton-lock/store/conformance/random-commands'
import fc from 'fast-check'
import { test } from 'vitest'
import type { Acquire, Command } from './command.ts'
import { builtInOperations, type NamespacePolicy, type OperationPolicy } from './policy.ts'
import { nextActMs, nextDeadlineMs } from './rules/expire.ts'
import { RememberedInMemory, resourceInMemory } from './state/in-memory.ts'
import { type PlaceChanges, placesOf, type SessionPlace } from './state/places.ts'
import type { Resource } from './state/state.ts'
import { step } from './step.ts'
import type { Context } from './turn.ts'
import { viewOf } from './view/view.ts'

const nothing = new RememberedInMemory<never>()
const MOMENTS = ['untilMs', 'claimByMs', 'expiresAtMs', 'waitUntilMs', 'progressDueMs', 'keptUntilMs']

/** The earliest of all the moments that are written down anywhere in a resource, but for when an answer is no longer given. */
function earliestOf(resource: Resource): number | undefined {
  const { grants, waiters, pauses, kept, recent, contradicted, changes, answers, released } = resource
  const memories = [answers, released].map((each) => [...(each as RememberedInMemory<never>).entries()])
  return earliestIn([grants, pauses, kept, recent, contradicted, [changes], ...memories, waiters.list(Infinity)])
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

/** Few operations in one run, so that they meet often. */
const PAIRS = [
  ['pull', 'delete'],
  ['pull', 'wipe'],
]
const OPERATIONS = ['pull', 'update', 'delete', 'lock', 'once', 'bake', 'wipe', 'unknown']
const PAUSES_MS = [300, 999, 1_000, 1_000, 5_000, 10_000, 10_000, 60_000, 3_600_000]

function drawOperations(random: Random): readonly string[] {
  if (random.chance(1 / 3)) return random.pick(PAIRS)
  const first = random.pick(OPERATIONS)
  return [first, random.pick(OPERATIONS.filter((each) => each !== first))]
}

function drawPolicy(random: Random): NamespacePolicy {
  const { pull, lock } = builtInOperations as Record<'pull' | 'lock', OperationPolicy>
  return {
    exclusion: random.pick(['operation', 'resource']),
    queueing: !random.chance(1 / 8),
    updateRequiresNoRef: random.chance(1 / 3),
    claimMs: random.pick([500, 5_000]),
    queueLimit: random.pick([2, 10_000]),
    operations: random.pick([
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
    ]),
  }
}

/** One seed for what a run begins with, and one for each command: fast-check takes commands away from a run that fails. */
function checkRun(seed: number, seeds: readonly number[]): void {
  const random = seededRandom(seed)
  let [policy, next] = [drawPolicy(random), drawPolicy(random)]
  const cast = { nodes: ['a', 'b'], operations: drawOperations(random), sessions: ['s1', 's2'], isStore: true }
  const run = new Run()
  for (const each of seeds) {
    const random = seededRandom(each)
    if (random.chance(1 / 30)) [policy, next] = [next, policy]
    run.step(random, cast, policy)
  }
}

class Run {
  readonly #resource = resourceInMemory('default', 'r')
  readonly #model = newModel()
  readonly #places = new Set<string>()
  readonly #asked: Acquire[] = []
  readonly #commands: string[] = []
  #nowMs = 1_000_000
  #nextMs: number | undefined

  step(random: Random, cast: Cast, policy: NamespacePolicy): void {
    this.#nowMs += random.chance(0.1) ? random.pick(PAUSES_MS) : 0
    const { grants, fence } = viewOf(this.#resource)
    const fences = Array.from({ length: fence }, (_, index) => index + 1)
    const command = drawCommand(random, cast, { grants, asked: this.#asked, fences })
    if (command.type === 'acquire') this.#asked.push(command)
    const { actsFor, ...drawn } = drawFacts(random, cast)
    // These come from the store itself, which acts for everybody.
    const isOfSession = command.type === 'session-lost' || command.type === 'leave'
    const spares = random.chance(1 / 12) ? random.chance(0.5) : undefined
    const facts = { nowMs: this.#nowMs, policy, ...drawn, spares, actsFor: isOfSession ? undefined : actsFor }
    const isAlive = random.chance(23 / 24) || !('session' in command && command.session !== undefined)
    this.#commands.push(JSON.stringify({ ...command, ...facts, policy: undefined, isAlive }))
    try {
      this.#compare(command, facts, isAlive)
    } catch (error) {
      const { operations: _, ...switches } = policy
      throw new Error(`${JSON.stringify(switches)}\n${this.#commands.join('\n')}`, { cause: error })
    }
  }

  #compare(command: Command, facts: Omit<Context, 'fenceFloor'>, sessionAlive: boolean): void {
    const resource = this.#resource
    const expected = naiveStep(this.#model, command, { ...facts, alive: () => sessionAlive })
    // Some stores know when something is due, and some do not.
    const known = { nextDeadlineMs: this.#commands.length % 2 === 1 ? undefined : (this.#nextMs ?? Infinity) }
    const taken = step(resource, command, { ...facts, ...known, fenceFloor: 0, sessionAlive })
    this.#nextMs = taken.nextDeadlineMs
    if (!isDeepStrictEqual(taken.reply, expected)) assert.deepEqual(taken.reply, expected)
    isSameState(resource, this.#model)
    for (const waiting of resource.waiters.operations())
      assert.ok(isTaken({ resource, policy: facts.policy, operation: waiting }))
    changePlaces(this.#places, taken.places)
    assert.deepEqual([...this.#places].sort(), placesOf(resource).map(nameOfPlace).sort())
    assert.equal(taken.nextDeadlineMs, earliestOf(resource))
    assert.equal(taken.nextDeadlineMs, nextDeadlineMs(resource))
    const memories = {
      kept: new Map(),
      recent: new Map(),
      contradicted: new Map(),
      changes: undefined,
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
  // A smaller seed stands for nothing simpler.
  const anySeed = fc.noShrink(fc.integer())
  const seeds = fc.array(anySeed, { minLength: 1, maxLength: 60, size: 'max' })
  fc.assert(fc.property(anySeed, seeds, checkRun), { numRuns, ...seed })
})
