import { type Acquire, type Command, defaultPolicy, type Json, type Policy, viewOf } from '@baton-lock/core'
import type { SimulatedDisk } from '@baton-lock/faults/simulated-disk'
import { nameOf } from '../src/address.ts'
import { type Random, SimulatedClock } from '../src/conformance/index.ts'
import { type Cast, drawCommand } from '../src/conformance/random-commands.ts'
import { type FileStoreOptions, openFileStore } from '../src/file/index.ts'
import { readStore } from '../src/file/read-store.ts'
import { Resident } from '../src/resident/resident.ts'
import { durableStep, type SessionRequest, type Store } from '../src/store.ts'

export const DIRECTORY = '/store'

/** Small enough that logs end, resources fall asleep and fences are reserved all the time. */
export const tiny = { directory: DIRECTORY, logLimit: 2_000, liveLimit: 1, fenceBlock: 3, retryMs: 1 }

export function openOn(disk: SimulatedDisk, options: Partial<FileStoreOptions> = {}) {
  return openFileStore({ ...tiny, clock: new SimulatedClock(), disk, ...options })
}

export const at = (resource: string) => ({ namespace: 'default', resource })

export const ask = (store: Store, node: string, resource = 'r', more: object = {}) =>
  durableStep(store, at(resource), {
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
      return durableStep(store, { namespace: 'default', resource: call.resource }, call.command)
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
  const resident = new Resident({ policy: { version: 1, policy: defaultPolicy }, liveLimit: Infinity })
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
      resources: slots.map((slot) => [slot.name, canonical(JSON.parse(slot.text)), slot.isActive]),
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

const NODES = ['a', 'b', 'c'] as const
const CAST: Cast = {
  nodes: NODES,
  operations: ['pull', 'lock', 'update'],
  sessions: NODES.map((node) => `s-${node}`),
}

/** Calls as a few nodes make them that fight over a few resources. `present` is what has come of those so far. */
export class Caller {
  readonly #random: Random
  readonly #present: Resident
  readonly #asked = new Map<string, Acquire[]>()
  #version = 1

  constructor(random: Random, present: Resident) {
    this.#random = random
    this.#present = present
  }

  next(nowMs: number): Exclude<Call, { do: 'restart' }> {
    const random = this.#random
    const node = random.pick(NODES)
    if (random.chance(0.03)) return { do: 'sweep', nowMs }
    if (random.chance(0.01)) return { do: 'policy', nowMs, policy: defaultPolicy, version: this.#version++ }
    if (random.chance(0.08)) return { do: 'open', nowMs, session: { session: `s-${node}`, node, ttlMs: 4_000 } }
    if (random.chance(0.05)) return { do: random.pick(['renew', 'close'] as const), nowMs, session: `s-${node}` }
    const resource = random.pick(['x', 'y', 'z'])
    return { do: 'step', nowMs, resource, command: this.#command(resource, nowMs) }
  }

  #command(resource: string, nowMs: number): Command {
    const asked = this.#asked.get(resource) ?? []
    const found = this.#present.read(at(resource), nowMs)
    const { grants, fence } = found ? viewOf(found) : { grants: [], fence: 0 }
    const fences = Array.from({ length: Math.min(fence, 8) }, (_, index) => fence - index).reverse()
    const command = drawCommand(this.#random, CAST, { grants, asked, fences })
    if (command.type === 'acquire') this.#asked.set(resource, [...asked, command].slice(-20))
    return command
  }
}
