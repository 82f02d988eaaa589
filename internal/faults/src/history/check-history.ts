import { type AddressedEvent, type Event, operationOf, type Policy, policyOf } from '@baton-lock/core'
import { naiveStep, newModel } from '../model/naive-model.ts'
import { CallbackCheck } from './callback-check.ts'
import type { History, StepRecord } from './history.ts'
import { RepeatCheck } from './repeat-check.ts'
import { SessionCheck, type SessionCheckOptions } from './session-check.ts'
import type { Violation } from './violation.ts'

export type { Violation } from './violation.ts'

/** Checks a history against every invariant that it can show. Linear in its length, but for the length of queues. */
export function checkHistory(
  history: History,
  { policy, ...options }: { readonly policy: Policy } & SessionCheckOptions,
): Violation[] {
  const violations: Violation[] = []
  const steps = new StepsCheck(policy, violations)
  const callbacks = new CallbackCheck(violations)
  const sessions = new SessionCheck(violations, options)
  const repeats = new RepeatCheck(violations)
  for (const record of history) {
    switch (record.kind) {
      case 'step':
        steps.take(record)
        callbacks.takeStep(record)
        sessions.takeStep(record)
        repeats.takeStep(record)
        break
      case 'callback':
        callbacks.take(record)
        break
      case 'call':
        callbacks.takeCall(record)
        break
      case 'client':
        callbacks.takeClient(record)
        break
      case 'session':
        sessions.take(record)
        break
      case 'server':
        if (record.what === 'started') sessions.startAnew()
    }
  }
  return violations
}

/** The steps alone, resource by resource. */
export class StepsCheck {
  readonly violations: Violation[]
  readonly #policy: Policy
  readonly #resources = new Map<string, ResourceCheck>()

  constructor(policy: Policy, violations: Violation[] = []) {
    this.#policy = policy
    this.violations = violations
  }

  take(step: StepRecord): void {
    const name = resourceName(step)
    const check = this.#resources.get(name) ?? new ResourceCheck(this.#policy, this.violations)
    this.#resources.set(name, check)
    check.take(step)
  }

  /** The same so far, to go on otherwise; it knows of no violations yet, and of these resources only. */
  fork(resources: ReadonlySet<string>): StepsCheck {
    const fork = new StepsCheck(this.#policy)
    for (const [name, check] of this.#resources)
      if (resources.has(name)) fork.#resources.set(name, check.fork(fork.violations))
    return fork
  }
}

export function resourceName({ namespace, resource }: StepRecord): string {
  return JSON.stringify([namespace, resource])
}

interface LiveGrant {
  readonly operation: string
  readonly actor: string
  readonly fence: number
  /** Since when its claim is waited for. */
  sinceMs: number
  claimed: boolean
}

interface LiveWaiter {
  readonly actor: string
  readonly revision: string | undefined
}

/** One resource: exclusion, fences, ends, queues, claims, references, and agreement with the naive model. */
class ResourceCheck {
  readonly #policy: Policy
  readonly #violations: Violation[]
  #model = newModel()
  #grants = new Map<string, LiveGrant>()
  #queues = new Map<string, LiveWaiter[]>()
  #asked = new Set<string>()
  #ended = new Set<number>()
  #references = new Set<string>()
  #fence = 0
  #resource = ''

  constructor(policy: Policy, violations: Violation[]) {
    this.#policy = policy
    this.#violations = violations
  }

  fork(violations: Violation[]): ResourceCheck {
    const fork = new ResourceCheck(this.#policy, violations)
    fork.#model = structuredClone(this.#model)
    fork.#grants = structuredClone(this.#grants)
    fork.#queues = structuredClone(this.#queues)
    fork.#asked = new Set(this.#asked)
    fork.#ended = new Set(this.#ended)
    fork.#references = new Set(this.#references)
    fork.#fence = this.#fence
    return fork
  }

  take(step: StepRecord): void {
    this.#resource = step.resource
    const { command } = step
    if (command.type === 'acquire') this.#asked.add(`${command.operation} ${actorOf(command)}`)
    // The store was away, and nobody could claim.
    if (command.type === 'recover') for (const grant of this.#grants.values()) grant.sinceMs = step.nowMs
    for (const each of step.events) this.#event(each, step)
    this.#agree(step)
    this.#quiet(step)
  }

  #violated(invariant: number, what: string, { nowMs }: StepRecord): void {
    this.#violations.push({ invariant, resource: this.#resource, what: `at ${(nowMs / 1_000).toFixed(3)}s: ${what}` })
  }

  #event({ event, to }: AddressedEvent, step: StepRecord): void {
    switch (event.type) {
      case 'queued':
        this.#queue(event.operation).push({ actor: actorOf(event), revision: event.revision })
        break
      case 'granted':
        this.#granted(event, step)
        break
      case 'claimed': {
        const grant = this.#grants.get(event.operation)
        if (grant?.fence !== event.fence)
          this.#violated(9, `fence ${event.fence} was claimed, but is not granted`, step)
        else grant.claimed = true
        break
      }
      case 'told':
        for (const asker of to) this.#leave(event.operation, actorOf(asker), step)
        break
      case 'left':
        this.#leave(event.operation, actorOf(event), step)
        break
      case 'ended':
        this.#endedEvent(event, step)
        break
      case 'referenced':
        if (this.#references.has(event.node)) this.#violated(11, `${event.node} was referenced twice`, step)
        this.#references.add(event.node)
        break
      case 'dereferenced':
        if (!this.#references.delete(event.node))
          this.#violated(11, `${event.node} was dereferenced without a reference`, step)
    }
  }

  #granted(event: Extract<Event, { type: 'granted' }>, step: StepRecord): void {
    const { operation, fence, handOver } = event
    const oneHolder = policyOf(this.#policy, step.namespace).exclusion === 'resource'
    const blocking = oneHolder ? [...this.#grants.values()][0] : this.#grants.get(operation)
    if (blocking)
      this.#violated(1, `${operation} was granted (fence ${fence}) while fence ${blocking.fence} was live`, step)
    if (fence <= this.#fence) this.#violated(3, `fence ${fence} was granted after ${this.#fence}`, step)
    const actor = actorOf(event)
    if (!this.#asked.has(`${operation} ${actor}`))
      this.#violated(9, `${actor} was granted ${operation} without asking`, step)
    const queue = this.#queue(operation)
    if (handOver) {
      if (queue[0]?.actor !== actor)
        this.#violated(6, `${operation} went to ${actor}, but ${queue[0]?.actor} had waited longer`, step)
      this.#queues.set(
        operation,
        queue.filter((waiter) => waiter.actor !== actor),
      )
    } else if (queue.length > 0)
      this.#violated(6, `${actor} was granted ${operation} past a queue of ${queue.length}`, step)
    this.#fence = Math.max(this.#fence, fence)
    this.#grants.set(operation, { operation, actor, fence, sinceMs: step.nowMs, claimed: !handOver })
  }

  #endedEvent({ operation, fence, outcome }: Extract<Event, { type: 'ended' }>, step: StepRecord): void {
    if (this.#ended.has(fence)) this.#violated(4, `fence ${fence} ended twice`, step)
    else if (this.#grants.get(operation)?.fence !== fence)
      this.#violated(4, `fence ${fence} ended, but was not live`, step)
    this.#ended.add(fence)
    this.#grants.delete(operation)
    // The model has not taken the step yet: it still has the grant.
    const held = this.#model.held.find(({ op }) => op === operation)
    const row = operationOf(policyOf(this.#policy, step.namespace), operation)
    const skips = row ? row.waitersOnSuccess === 'skip' : held?.classic
    if (outcome.outcome !== 'success' || !skips) return
    const told = step.events.flatMap(({ event, to }) =>
      event.type === 'told' && event.operation === operation ? to : [],
    )
    const answered = new Set(told.map(actorOf))
    for (const waiter of this.#queue(operation)) {
      if (waiter.revision === held?.rev && !answered.has(waiter.actor)) {
        this.#violated(
          5,
          `${waiter.actor} waited for ${operation} and was not told of the success of fence ${fence}`,
          step,
        )
      }
    }
  }

  #leave(operation: string, actor: string, step: StepRecord): void {
    const queue = this.#queue(operation)
    if (!queue.some((waiter) => waiter.actor === actor))
      this.#violated(9, `${actor} left the queue of ${operation} without being in it`, step)
    this.#queues.set(
      operation,
      queue.filter((waiter) => waiter.actor !== actor),
    )
  }

  /** The naive model, given the same commands at the same times, must give the same answers. */
  #agree(step: StepRecord): void {
    const { command, nowMs, namespace } = step
    // A forgotten resource leaves its fence to the floor of its shard, which may be higher.
    const granted = step.events.map(({ event }) => event).find((event) => event.type === 'granted')
    const fenceFloor =
      granted && granted.fence > this.#model.fence + 1 && this.#model.fence < granted.fence ? granted.fence - 1 : 0
    // Whether a session was alive is checked elsewhere; here it is what follows from it.
    const isLost = step.reply.status === 'refused' && step.reply.code === 'session-lost'
    const context = {
      ...step.facts,
      nowMs,
      policy: policyOf(this.#policy, namespace),
      alive: () => !isLost,
      fenceFloor,
    }
    if (step.reply.status === 'changed') {
      naiveStep(this.#model, { type: 'expire' }, context)
      this.#renumber(step, step.reply.seen)
      return
    }
    const expected = naiveStep(this.#model, command, context)
    if (isSame(step.reply, expected)) return
    const [actual, due] = [step.reply, expected].map((reply) => JSON.stringify(sorted(reply)))
    if (actual !== due) this.#violated(16, `${command.type} was answered ${actual}, but should have been ${due}`, step)
  }

  /**
   * Nothing was changed. A store that has forgotten an idle resource numbers its references anew, from above all numbers that
   * it has told: those of the model are never above them.
   */
  #renumber(step: StepRecord, seen: number): void {
    const { numbers } = this.#model
    if (numbers && seen < numbers.last) this.#violated(16, `changes of references were told up to ${seen} only`, step)
    if (numbers) numbers.last = Math.max(numbers.last, seen)
    else this.#model.numbers = { last: seen, lastRelease: 0, of: {} }
  }

  /** After every step: nobody waits for a free key, and no claim is overdue. */
  #quiet(step: StepRecord): void {
    const policy = policyOf(this.#policy, step.namespace)
    for (const [operation, queue] of this.#queues) {
      if (queue.length === 0) continue
      const busy = policy.exclusion === 'resource' ? this.#grants.size > 0 : this.#grants.has(operation)
      const paused = this.#model.pauses.some(({ op }) => policy.exclusion === 'resource' || op === operation)
      if (!busy && !paused) this.#violated(8, `${operation} is free, and ${queue.length} wait for it`, step)
    }
    for (const grant of this.#grants.values()) {
      if (!grant.claimed && step.nowMs >= grant.sinceMs + policy.claimMs) {
        this.#violated(9, `fence ${grant.fence} is unclaimed beyond the claim time`, step)
      }
    }
  }

  #queue(operation: string): LiveWaiter[] {
    const queue = this.#queues.get(operation) ?? []
    this.#queues.set(operation, queue)
    return queue
  }
}

/** No two actors share a name. */
function actorOf({ node, owner }: { readonly node: string; readonly owner: string }): string {
  return node === owner ? JSON.stringify(owner) : JSON.stringify([node, owner])
}

/** Whether two plain replies are the same at a glance; where it says no, their texts decide. */
function isSame(one: object, other: object): boolean {
  const entries = Object.entries(one)
  return (
    entries.length === Object.keys(other).length &&
    entries.every(([key, value]) => typeof value !== 'object' && value === other[key as keyof typeof other])
  )
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value) || value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, each]) => each !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, each]) => [key, sorted(each)]),
  )
}
