import { createHash } from 'node:crypto'
import { checkHistory, type Violation } from '../history/check-history.ts'
import { checkTold, type ToldVerdict } from '../history/check-told.ts'
import type { History } from '../history/history.ts'
import { checkLateCopies } from '../history/late-copies.ts'
import { tellingOf } from '../history/telling.ts'
import { act } from './act.ts'
import { inflict } from './fault.ts'
import { Observer } from './observer.ts'
import { clientName, type Plan } from './plan.ts'
import { World } from './world.ts'

/** What came of a run. */
export interface RunResult {
  readonly violations: readonly Violation[]
  /** The same plan gives the same hash, or the run was not deterministic. */
  readonly hash: string
  readonly counts: Counts
  readonly history: History
}

/** What a run must have met to be worth anything, over all seeds. */
export interface Counts {
  readonly steps: number
  readonly commands: number
  readonly grants: number
  readonly handOvers: number
  readonly skips: number
  readonly expiries: number
  readonly passedOver: number
  readonly lostGrants: number
  readonly reconnects: number
  /** Connections that broke, that were told to move, that a proxy refused, and whose frames one dropped. */
  readonly breaks: number
  readonly drains: number
  readonly forbidden: number
  readonly dropped: number
  /** Asks that the server was told to forget. */
  readonly acknowledged: number
  readonly eventsObserved: number
  readonly resets: number
  /** Observers who came back and were told the rest. */
  readonly resumed: number
  readonly faults: number
}

/** After the last fault everybody gets this long to come to an end. */
const HEAL_MS = 300_000

/** One run: faults and all until the plan is through, then everything heals, and then everybody must come to an end. */
export async function simulate(plan: Plan, options: { readonly checkFences?: boolean } = {}): Promise<RunResult> {
  const world = new World(plan, options)
  const { scheduler, outside, network } = world
  const observers = world.servers.map((server) => new Observer(world, server))
  const pending = new Map<number, string>()
  const undo: (() => void)[] = []
  for (const [call, action] of plan.actions.entries()) {
    scheduler.after(outside, action.atMs, () => {
      const { process } = world.clients[action.client]!
      scheduler.after(process, 0, () => {
        pending.set(call, `${process.name} ${action.by} ${action.kind} ${action.operation} ${action.resource}`)
        void act(world, action, call).finally(() => pending.delete(call))
      })
    })
  }
  for (const fault of plan.faults) {
    scheduler.after(outside, fault.atMs, () => {
      if (fault.kind === 'crash-client') forget(pending, `${clientName(fault.client)} `)
      undo.push(inflict(world, fault))
    })
  }
  await scheduler.run(plan.swarm.lengthMs)
  network.healed = true
  for (const mend of undo) mend()
  await scheduler.run(plan.swarm.lengthMs + HEAL_MS, () => pending.size === 0)
  const stuck = [...pending.values()].map((what) =>
    violation(8, what.split(' ').at(-1)!, `after everything healed, ${what} never ended`),
  )
  await close(world)
  const left = await leftovers(world)
  const endless = scheduler.isExhausted ? [violation(8, '', `it goes on for ever: ${scheduler.steps} steps`)] : []
  const told = toldOf(world, observers)
  const violations = [
    ...endless,
    ...stuck,
    ...(stuck.length > 0 ? [] : left),
    ...world.fenced.violations.map(({ key, fence, highest }) =>
      violation(
        2,
        key.split(' ').at(-1)!,
        `${key}: a write with fence ${fence} was accepted after one with ${highest}`,
      ),
    ),
    ...checkHistory(world.history, { policy: world.policy }),
    ...checkLateCopies(world.history),
    ...told.violations,
  ]
  return { violations, hash: hashOf(world.history), counts: countsOf(world, plan, told), history: world.history }
}

function violation(invariant: number, resource: string, what: string): Violation {
  return { invariant, resource, what }
}

/** The calls of a client that is gone answer to nobody. */
function forget(pending: Map<number, string>, prefix: string): void {
  for (const [call, what] of pending) if (what.startsWith(prefix)) pending.delete(call)
}

async function close(world: World): Promise<void> {
  const { scheduler } = world
  let closing = world.clients.length
  for (const { baton } of world.clients) void baton.close().finally(() => closing--)
  await scheduler.run(scheduler.nowMs() + 60_000, () => closing === 0)
  // Everything that the dead have left behind runs out.
  await scheduler.run(scheduler.nowMs() + 120_000)
}

/** Nobody is there any more: nothing may be held, and nobody may wait. */
async function leftovers(world: World): Promise<Violation[]> {
  const { resources } = await world.store.list({ limit: 1_000, active: true })
  return resources.map(({ resource, grants, waiters }) =>
    violation(
      8,
      resource,
      `stuck after everybody had gone: held ${JSON.stringify(grants)}, waiting ${JSON.stringify(waiters)}`,
    ),
  )
}

function toldOf({ history }: World, observers: readonly Observer[]): ToldVerdict {
  const tellings = observers.map(({ name, notes }) => tellingOf(name, notes))
  return checkTold({ tellings, steps: history.filter((record) => record.kind === 'step') })
}

function hashOf(history: History): string {
  return createHash('sha256').update(JSON.stringify(history)).digest('hex').slice(0, 16)
}

function countsOf(world: World, plan: Plan, told: ToldVerdict): Counts {
  const counts = {
    commands: 0,
    grants: 0,
    handOvers: 0,
    skips: 0,
    expiries: 0,
    passedOver: 0,
    lostGrants: 0,
    acknowledged: 0,
  }
  for (const record of world.history) {
    if (record.kind === 'callback' && record.what === 'lost') counts.lostGrants++
    if (record.kind !== 'step') continue
    counts.commands++
    if (record.command.type === 'acknowledge') counts.acknowledged++
    if (record.reply.status === 'skip') counts.skips++
    if (record.reply.status === 'refused' && record.reply.code === 'passed-over') counts.passedOver++
    for (const { event } of record.events) {
      if (event.type === 'granted') counts.grants++
      if (event.type === 'granted' && event.handOver) counts.handOvers++
      if (event.type === 'told' && event.answer.status === 'skip') counts.skips += event.count
      if (event.type === 'ended' && event.outcome.outcome === 'expired') counts.expiries++
    }
  }
  const reconnects = world.clients.reduce(
    (sum, { transport, messages }) => sum + transport.reconnects + messages.reconnects,
    world.reconnects,
  )
  const { breaks, drains, forbidden, dropped } = world.network
  const { heard, gaps, 'streams resumed': resumed } = told.counts
  const observed = { eventsObserved: heard, resets: gaps, resumed }
  const { steps } = world.scheduler
  return { ...counts, ...observed, steps, reconnects, breaks, drains, forbidden, dropped, faults: plan.faults.length }
}
