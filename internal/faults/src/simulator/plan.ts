import { type Random, seededRandom } from '@baton-lock/store/conformance/random'
import { type Call, type Choices, drawCall } from '../calls/call.ts'

/** What one run is made of; drawn from its seed, and small enough to be cut down when it fails. */
export interface Plan {
  readonly seed: number
  readonly swarm: Swarm
  readonly actions: readonly Action[]
  readonly faults: readonly Fault[]
}

/** The conditions of one run. Every seed draws its own: a mean of all dangers meets none of them well. */
export interface Swarm {
  readonly servers: number
  readonly clients: number
  readonly resources: number
  /**
   * `shared`: servers are stateless over a store of its own clock. `single`: one server that keeps all in memory. `file`:
   * one server on a disk that forgets what was not synced.
   */
  readonly mode: 'shared' | 'single' | 'file'
  readonly exclusion: 'operation' | 'resource'
  readonly ttlMs: number
  readonly claimMs: number
  readonly latencyMs: number
  readonly dropRate: number
  readonly duplicateRate: number
  /** How late the second copy of a message may be. */
  readonly duplicateMs: number
  readonly storeFaultRate: number
  readonly storeLatencyMs: number
  readonly attempts: number
  readonly retryDelayMs: number
  /** How many may wait in all. */
  readonly waiterLimit: number
  readonly lengthMs: number
}

/** Something that a client does. Without the SDK, only the operation, the resource and the options of the call count. */
export interface Action extends Call {
  readonly atMs: number
  readonly client: number
  /**
   * `raw`: without the SDK, by the shared hold id and without renewing, as the classic paths are used. `attack`: a stranger with
   * a token of its own tries to act for others.
   */
  readonly by: 'sdk' | 'raw' | 'attack'
  /** Decides what a raw request or an attack does. */
  readonly draw: number
}

/** Something that goes wrong, and for how long. */
export type Fault = { readonly atMs: number; readonly forMs: number } & (
  | { readonly kind: 'pause-client' | 'crash-client'; readonly client: number }
  /** `drain-server`: it tells its streams to move, and ends those that have not. */
  | { readonly kind: 'pause-server' | 'crash-server' | 'drain-server'; readonly server: number }
  | {
      readonly kind: 'partition'
      readonly client: number
      readonly server: number
      readonly way: 'there' | 'back' | 'both'
    }
  | { readonly kind: 'store-away' }
  | { readonly kind: 'reset-streams' }
)

/** The only node that the adversary's token acts for. */
export const ADVERSARY = 'mallory'

const ACTIONS = 160
const FAULTS_MIN = 5

/** The plan that a seed stands for. */
export function planOf(seed: number): Plan {
  const random = seededRandom(seed)
  const swarm = swarmOf(random)
  const actions = Array.from({ length: ACTIONS }, () => actionOf(random, swarm))
  const faults = Array.from({ length: FAULTS_MIN + random.integer(8) }, () => faultOf(random, swarm))
  const late = lateCopies(seed, swarm)
  return {
    seed,
    swarm,
    actions: [...withForgets(seed, actions), ...late.actions].sort((a, b) => a.atMs - b.atMs),
    faults: [...withDrains(seed, swarm, faults), ...late.faults].sort((a, b) => a.atMs - b.atMs),
  }
}

/** Half of the breaks of streams are announced. Drawn apart, so that all else in the plan of a seed is as it was before there were any. */
function withDrains(seed: number, { servers }: Swarm, faults: readonly Fault[]): Fault[] {
  const random = seededRandom(seed ^ 0xd7a1)
  return faults.map((fault): Fault => {
    if (fault.kind !== 'reset-streams' || random.chance(0.5)) return fault
    const { atMs, forMs } = fault
    return { kind: 'drain-server', server: random.integer(servers), atMs, forMs }
  })
}

/** Half of those that would revoke forget what is kept of an update. Drawn apart, like the drains. */
function withForgets(seed: number, actions: readonly Action[]): Action[] {
  const random = seededRandom(seed ^ 0xf0e7)
  return actions.map((action): Action => {
    const isForget = action.kind === 'revoke' && random.chance(0.5)
    return isForget ? { ...action, kind: 'forget', operation: 'update' } : action
  })
}

/** What a client does, and what is done before it and since, by itself or by others. The rest of each is that of any action. */
type Doing = Partial<Action> & { readonly kind: Action['kind']; readonly inMs: number }

const UPDATE = { kind: 'run', operation: 'update', revision: 'late', workMs: 5 } as const
const LATE: Readonly<Record<string, readonly Doing[]>> = {
  forget: [
    { ...UPDATE, inMs: -1_000 },
    { kind: 'forget', operation: 'update', inMs: 0 },
    { ...UPDATE, inMs: 3_500 },
  ],
  revoke: [
    { kind: 'run', operation: 'lock', workMs: 5_000, client: 1, inMs: -1_000 },
    { kind: 'run', operation: 'lock', workMs: 10_000, client: 2, inMs: -500 },
    { kind: 'revoke', operation: 'lock', inMs: 0 },
  ],
  release: [
    { kind: 'add-reference', inMs: -1_000 },
    { kind: 'release-reference', inMs: 0 },
    { kind: 'add-reference', inMs: 3_500 },
  ],
  add: [
    { kind: 'add-reference', inMs: 0 },
    { kind: 'release-reference', inMs: 3_500 },
  ],
}

/**
 * A server is paused for longer than its client waits, about when the client asks it to change something. The client asks
 * another one, and something newer is done; then the first goes on. Left to chance, a seed would hardly ever meet it.
 */
function lateCopies(seed: number, swarm: Swarm): Pick<Plan, 'actions' | 'faults'> {
  const random = seededRandom(seed ^ 0x1a7e)
  const actions: Action[] = []
  const faults: Fault[] = []
  if (swarm.servers === 1) return { actions, faults }
  for (const doings of Object.values(LATE)) {
    const atMs = 2_000 + random.integer(swarm.lengthMs - 20_000)
    const resource = `r${random.integer(swarm.resources)}`
    const client = random.integer(swarm.clients)
    for (const { inMs, client: offset = 0, ...doing } of doings) {
      const about = { atMs: atMs + inMs, client: (client + offset) % swarm.clients, by: 'sdk', draw: 0 } as const
      actions.push({
        operation: 'lock',
        node: clientName(client),
        workMs: 0,
        ends: 'success',
        ...doing,
        ...about,
        resource,
      })
    }
    const pausedMs = 3_000 + random.integer(6_000)
    const server = random.integer(swarm.servers)
    faults.push({ kind: 'pause-server', server, atMs: atMs + random.integer(4 * swarm.latencyMs + 2), forMs: pausedMs })
  }
  return { actions, faults }
}

const CRASHES = 6

/** The same for a server on a file store: it crashes some times more, for about as long as a lease or shorter. */
export function filePlanOf(seed: number): Plan {
  const plan = planOf(seed)
  const random = seededRandom(seed ^ 0xf11e)
  const swarm: Swarm = { ...plan.swarm, mode: 'file', servers: 1, storeFaultRate: 0, storeLatencyMs: 0 }
  const faults = plan.faults.map((fault): Fault => {
    const { atMs, forMs } = fault
    if (fault.kind === 'store-away') return { kind: 'crash-server', server: 0, atMs, forMs }
    return 'server' in fault ? { ...fault, server: 0 } : fault
  })
  for (let crash = 0; crash < CRASHES; crash++) {
    const forMs = 10 + random.integer(random.pick([100, swarm.ttlMs, 2 * swarm.ttlMs]))
    faults.push({ kind: 'crash-server', server: 0, atMs: random.integer(swarm.lengthMs), forMs })
  }
  return { ...plan, swarm, faults: faults.sort((a, b) => a.atMs - b.atMs) }
}

function swarmOf(random: Random): Swarm {
  const mode = random.chance(0.7) ? 'shared' : 'single'
  return {
    mode,
    servers: mode === 'single' ? 1 : 1 + random.integer(3),
    clients: 5 + random.integer(4),
    resources: random.pick([1, 2, 3, 4, 12]),
    exclusion: random.pick(['operation', 'operation', 'resource']),
    ttlMs: random.pick([1_000, 3_000, 10_000]),
    claimMs: random.pick([500, 2_000, 5_000]),
    latencyMs: random.pick([1, 10, 100]),
    dropRate: random.pick([0, 0.005, 0.05]),
    duplicateRate: random.pick([0, 0.02, 0.1]),
    duplicateMs: random.pick([100, 2_000, 100_000]),
    storeFaultRate: mode === 'single' ? 0 : random.pick([0, 0.01, 0.05]),
    storeLatencyMs: mode === 'single' ? 0 : random.pick([0, 2, 20]),
    attempts: random.pick([0, 0, 2, 4]),
    retryDelayMs: random.pick([0, 0, 300]),
    waiterLimit: random.pick([1_000_000, 1_000_000, 1_000_000, 2]),
    lengthMs: random.pick([30_000, 60_000, 120_000, 600_000]),
  }
}

const BY = [...Array<'sdk'>(14).fill('sdk'), ...Array<'raw'>(4).fill('raw'), 'attack', 'attack'] as const

function actionOf(random: Random, swarm: Swarm): Action {
  const choices: Choices = {
    resources: swarm.resources,
    nodes: Array.from({ length: swarm.clients }, (_, index) => clientName(index)),
    workMs: [0, 5, 50, 200, 200, 1_000, swarm.ttlMs],
    revisions: 2,
    revisionRate: 0.2,
    referenceRate: 0.8,
  }
  return {
    atMs: random.integer(swarm.lengthMs),
    client: random.integer(swarm.clients),
    by: random.pick(BY),
    ...drawCall(random, choices),
    draw: random.next(),
  }
}

export function clientName(index: number): string {
  return `client-${index}`
}

function faultOf(random: Random, swarm: Swarm): Fault {
  const client = random.integer(swarm.clients)
  const server = random.integer(swarm.servers)
  const times = { atMs: random.integer(swarm.lengthMs), forMs: random.integer(3 * swarm.ttlMs) + 100 }
  const kinds = [
    { kind: 'pause-client', client },
    { kind: 'pause-client', client },
    { kind: 'crash-client', client },
    { kind: 'pause-server', server },
    { kind: 'partition', client, server, way: random.pick(['there', 'back', 'both'] as const) },
    { kind: 'reset-streams' },
    ...(swarm.mode === 'shared' ? ([{ kind: 'crash-server', server }, { kind: 'store-away' }] as const) : []),
  ] as const
  return { ...times, ...random.pick(kinds) }
}
