import { type Command, defaultPolicy, type Json, type Policy } from '../../src/core/index.ts'
import { nameOf } from '../../src/stores/address.ts'
import { type FileStoreOptions, openFileStore } from '../../src/stores/file/index.ts'
import { readStore } from '../../src/stores/file/read-store.ts'
import { Resident } from '../../src/stores/resident/resident.ts'
import { resourceFromText, resourceToText } from '../../src/stores/resident/resource-text.ts'
import type { SessionRequest, Store } from '../../src/stores/store.ts'
import { type Random, SimulatedClock } from '../../src/testing/index.ts'
import type { SimulatedDisk } from '../../src/testing/simulated-disk.ts'

export const DIRECTORY = '/store'

/** Small enough that logs end, resources fall asleep and fences are reserved all the time. */
export const tiny = { directory: DIRECTORY, logLimit: 2_000, liveLimit: 1, fenceBlock: 3, retryMs: 1 }

export function openOn(disk: SimulatedDisk, options: Partial<FileStoreOptions> = {}): Promise<Store> {
  return openFileStore({ ...tiny, clock: new SimulatedClock(), disk, ...options })
}

export const at = (resource: string) => ({ namespace: 'default', resource })

export const ask = (store: Store, node: string, resource = 'r', more: object = {}) =>
  store.step(at(resource), {
    type: 'acquire',
    operation: 'lock',
    node,
    owner: node,
    hold: '1',
    ttlMs: 30_000,
    ...more,
  })

/** One call of a store, so that it can be made once more elsewhere. */
export type Call = { readonly nowMs: number } & (
  | { readonly do: 'step'; readonly resource: string; readonly command: Command }
  | { readonly do: 'open'; readonly session: SessionRequest }
  | { readonly do: 'renew' | 'close'; readonly session: string }
  | { readonly do: 'sweep' }
  | { readonly do: 'policy'; readonly policy: Policy; readonly version: number }
  | { readonly do: 'restart'; readonly fenceFloor: number }
)

export function callStore(store: Store, call: Exclude<Call, { do: 'restart' }>): Promise<unknown> {
  switch (call.do) {
    case 'step':
      return store.step({ namespace: 'default', resource: call.resource }, call.command)
    case 'open':
      return store.openSession(call.session)
    case 'renew':
      return store.renewSession(call.session)
    case 'close':
      return store.closeSession(call.session)
    case 'sweep':
      return store.sweep(3)
    case 'policy':
      return store.applyPolicy(call.policy, call.version)
  }
}

/** What the state must be after these calls: all of them made in memory, by the same core, and nothing else. */
export function fold(calls: readonly Call[]): Resident {
  const dormancy = {
    liveLimit: Infinity,
    toText: resourceToText,
    fromText: resourceFromText,
  }
  const resident = new Resident({ policy: { version: 1, policy: defaultPolicy }, dormancy })
  for (const call of calls) callResident(resident, call)
  return resident
}

export function callResident(resident: Resident, call: Call): void {
  const { nowMs } = call
  switch (call.do) {
    case 'step':
      resident.step({ namespace: 'default', resource: call.resource }, { command: call.command, nowMs })
      break
    case 'open':
      resident.openSession(call.session, nowMs)
      break
    case 'renew':
      resident.renewSession(call.session, nowMs)
      break
    case 'close':
      resident.closeSession(call.session, nowMs)
      break
    case 'sweep':
      resident.sweep(3, nowMs)
      break
    case 'policy':
      if (resident.policy.version === call.version) resident.policy = { version: call.version + 1, policy: call.policy }
      break
    case 'restart':
      resident.shards.raiseAllFenceFloors(call.fenceFloor)
      resident.recover(nowMs)
  }
}

/** Everything that is kept, in a form in which equal states are equal texts. */
function printOf(resident: Resident): string {
  const { shards, sessions, policy } = resident
  const slots = [...shards.all()].sort((a, b) => (a.name < b.name ? -1 : 1))
  return JSON.stringify(
    {
      resources: slots.map((slot) => [
        slot.name,
        canonical(JSON.parse(shards.textOf(slot))),
        slot.isActive,
        slot.runsOut,
      ]),
      sessions: sessions
        .all()
        .map(({ session, node, ttlMs }) => [
          { session, node, ttlMs },
          (sessions.places(session) ?? [])
            .map((place) => JSON.stringify([nameOf(place), place.operation, place.owner]))
            .sort(),
        ]),
      floors: shards.fenceFloors,
      policy: [policy.version, policy.policy],
      counts: resident.counts(),
    },
    null,
    1,
  )
}

/** What the disk says, before anybody is given any grace. */
export async function printOfDisk(disk: SimulatedDisk, directory = DIRECTORY): Promise<string> {
  const { resident } = await readStore({ disk, directory, liveLimit: 1 })
  resident.takeStock()
  return printOf(resident)
}

/** The length of the prefix of the calls that the disk holds, at least so long; -1 where it is none. */
export async function prefixOf(
  disk: SimulatedDisk,
  calls: readonly Call[],
  { atLeast, directory = DIRECTORY }: { readonly atLeast: number; readonly directory?: string },
): Promise<number> {
  const found = await printOfDisk(disk, directory)
  const resident = fold(calls.slice(0, atLeast))
  if (found === printOf(resident)) return longest(resident, calls, atLeast, found)
  for (let count = atLeast; count < calls.length; count++) {
    callResident(resident, calls[count]!)
    if (found === printOf(resident)) return longest(resident, calls, count + 1, found)
  }
  // The very first start writes what a store begins with; before that there is nothing at all.
  return atLeast === 0 && JSON.parse(found).policy[0] === 0 ? 0 : -1
}

/** Calls that change nothing are part of the prefix too. */
function longest(resident: ReturnType<typeof fold>, calls: readonly Call[], count: number, found: string): number {
  let length = count
  while (length < calls.length && calls[length]!.do !== 'restart') {
    callResident(resident, calls[length]!)
    if (printOf(resident) !== found) break
    length++
  }
  return length
}

function canonical(value: Json): Json {
  if (Array.isArray(value)) return value.map(canonical)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, each]) => [key, canonical(each)]),
  )
}

const nodes = ['a', 'b', 'c'] as const

/** Calls as a few nodes make them that fight over a few resources. */
export class Caller {
  readonly #random: Random
  #holds = 0
  #version = 1

  constructor(random: Random) {
    this.#random = random
  }

  next(nowMs: number, fenceOf: (resource: string, operation: string) => number): Exclude<Call, { do: 'restart' }> {
    const random = this.#random
    const node = random.pick(nodes)
    if (random.chance(0.03)) return { do: 'sweep', nowMs }
    if (random.chance(0.01)) return { do: 'policy', nowMs, policy: defaultPolicy, version: this.#version++ }
    if (random.chance(0.08)) return { do: 'open', nowMs, session: { session: `s-${node}`, node, ttlMs: 4_000 } }
    if (random.chance(0.05)) return { do: random.pick(['renew', 'close'] as const), nowMs, session: `s-${node}` }
    const resource = random.pick(['x', 'y', 'z'])
    return { do: 'step', nowMs, resource, command: this.#command(node, resource, fenceOf) }
  }

  #command(node: string, resource: string, fenceOf: (resource: string, operation: string) => number): Command {
    const random = this.#random
    const operation = random.pick(['pull', 'lock', 'update'])
    const hold = random.chance(0.7) ? `${++this.#holds}` : `${this.#holds}`
    const fence = fenceOf(resource, operation)
    if (random.chance(0.5)) {
      return {
        type: 'acquire',
        operation,
        node,
        owner: node,
        hold,
        ttlMs: random.pick([500, 3_000]),
        ...(random.chance(0.4) && { session: `s-${node}` }),
        ...(random.chance(0.2) && { waitMs: 1_000 }),
        ...(random.chance(0.2) && { revision: 'ü ₂' }),
      }
    }
    if (random.chance(0.2)) return { type: 'cancel', operation, owner: node, hold }
    if (random.chance(0.2)) return { type: 'renew', operation, owner: node, fence }
    if (random.chance(0.1)) return { type: 'revoke', operation }
    if (random.chance(0.2)) {
      const ended = `${this.#holds - random.pick([0, 1, 2])}`
      return { type: 'acknowledge', operation, owner: node, hold: ended, ...(random.chance(0.5) && { node }) }
    }
    if (random.chance(0.1)) return { type: random.pick(['add-reference', 'drop-node'] as const), node }
    const outcome = random.chance(0.5)
      ? ({ outcome: 'success', result: { node } } as const)
      : ({ outcome: 'failure', error: 'x' } as const)
    return { type: 'release', operation, owner: node, hold: `${this.#holds}`, fence, ...outcome }
  }
}
