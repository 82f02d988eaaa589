import type { Acquire, Command, Facts, GrantView, ReportedOutcome } from '@baton-lock/core'
import type { Random } from './random.ts'

/** Who gives commands, and about what. Few of each, so that they meet. */
export interface Cast {
  readonly nodes: readonly string[]
  readonly operations: readonly string[]
  readonly sessions: readonly string[]
  /**
   * Whether to draw what only stores say to a resource too (`expire`, `recover`, `session-lost`, `leave`), and numbers of
   * changes, which begin where the store begins them.
   */
  readonly isStore?: boolean
}

export type Holder = Pick<GrantView, 'operation' | 'node' | 'owner' | 'fence' | 'claimed'>

/** How things stand with the resource: most commands fit that. */
interface Situation {
  readonly grants: readonly Holder[]
  /** The requests so far, oldest first. */
  readonly asked: readonly Acquire[]
  /** The fences of the grants so far, oldest first. */
  readonly fences: readonly number[]
}

const SPAN = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b'

const OUTCOMES: readonly ReportedOutcome[] = [
  { outcome: 'success' },
  { outcome: 'success' },
  { outcome: 'success', result: 1 },
  { outcome: 'success', effect: 'none' },
  { outcome: 'success', keepMs: 10_000, resultOmitted: true },
  { outcome: 'success', keepMs: 0, result: { n: 2 } },
  { outcome: 'success', keepMs: 10_000, traceparent: `${SPAN}1-01` },
  { outcome: 'failure', error: 'x' },
  { outcome: 'failure', error: 'x', permanent: true },
  { outcome: 'failure', error: 'x', traceparent: `${SPAN}2-01` },
  { outcome: 'failure', error: 'x', permanent: true, traceparent: `${SPAN}3-01` },
  { outcome: 'cancelled' },
]

/** One command to a resource. The core is compared by these with the naive model, and stores with the core. */
export function drawCommand(random: Random, cast: Cast, situation: Situation): Command {
  return new Draw(random, cast, situation).command()
}

/** What is known of whoever gives the command; mostly nothing. */
export function drawFacts(random: Random, { nodes }: Cast): Facts {
  return {
    ...(random.chance(1 / 8) && {
      actsFor: nodes.filter(() => random.chance(0.5)).map((node) => patternOf(random, node)),
    }),
    ...(random.chance(1 / 12) && { mayQueue: random.chance(0.5) }),
    ...(random.chance(1 / 12) && { hasRoom: random.chance(0.5) }),
    ...(random.chance(1 / 12) && { mayReference: random.chance(0.5) }),
  }
}

/** Mostly the node itself; otherwise the beginning of its name, of one length or another. */
function patternOf(random: Random, node: string): string {
  return random.chance(3 / 4) ? node : `${node.slice(0, random.integer(node.length + 1))}*`
}

class Draw {
  readonly #random: Random
  readonly #cast: Cast
  readonly #situation: Situation

  constructor(random: Random, cast: Cast, situation: Situation) {
    this.#random = random
    this.#cast = cast
    this.#situation = situation
  }

  command(): Command {
    const { asked } = this.#situation
    const draw = this.#random.integer(22)
    if (draw < 8 || asked.length === 0) return this.#acquire()
    if (draw < 11) return this.#again()
    if (draw < 13) return this.#heard()
    if (draw < 18) return this.#ofHolder()
    return this.#other()
  }

  #acquire(): Acquire {
    const random = this.#random
    return {
      type: 'acquire',
      operation: this.#operation(),
      ...this.#actor(),
      hold: this.#hold(),
      ttlMs: random.pick([1_000, 10_000, 100_000]),
      ...(random.chance(1 / 4) && { session: random.pick(this.#cast.sessions) }),
      ...(random.chance(1 / 4) && { placeTtlMs: random.pick([2_000, 20_000]) }),
      ...(random.chance(1 / 4) && { waitMs: random.pick([0, 3_000, 3_000, 30_000]) }),
      ...(random.chance(1 / 6) && { revision: random.pick(['v1', 'v2']) }),
      ...(random.chance(1 / 6) && { disbelieve: this.#disbelieved() }),
      ...(random.chance(1 / 12) && { verified: random.chance(0.5) }),
      ...(random.chance(1 / 6) && { verifies: random.chance(0.5) }),
      ...(random.chance(1 / 2) && { reference: false }),
      ...(random.chance(1 / 4) && { dropReference: random.chance(0.5) }),
      ...(random.chance(1 / 8) && { queueing: random.chance(0.5) }),
      ...(random.chance(1 / 2) && { classic: random.chance(0.5) }),
    }
  }

  /** One of the last requests once more: a claim, a duplicate, or one that says something else now. */
  #again(): Acquire {
    const random = this.#random
    const { asked } = this.#situation
    const last = asked.at(-1 - random.integer(4)) ?? asked.at(-1)!
    const changes: readonly Partial<Acquire>[] = [
      {},
      {},
      {},
      { verified: true },
      { disbelieve: this.#disbelieved() },
      { revision: 'v1' },
      { session: random.pick(this.#cast.sessions) },
    ]
    return { ...last, ...random.pick(changes) }
  }

  /** Some of the last to ask have received their answer: the newest one, or one of some fences ago. */
  #heard(): Command {
    const random = this.#random
    const { asked, fences } = this.#situation
    const fence = fences.at(-1 - random.pick([0, 0, 0, 1, 2])) ?? 0
    const isNamed = random.chance(0.5)
    const askers = asked
      .slice(-1 - random.integer(6))
      .slice(0, 2)
      .map(({ operation, node, owner }) => ({ operation, ...(isNamed && { node }), owner, fence }))
    return { type: 'heard', askers }
  }

  /** What a holder says, mostly the one there is. */
  #ofHolder(): Command {
    const random = this.#random
    const { grants, asked, fences } = this.#situation
    const drawn = this.#operation()
    const isStranger = random.chance(1 / 8)
    const grant = grants.find(({ operation }) => operation === drawn) ?? (isStranger ? undefined : grants.at(-1))
    const last = grant ? asked.findLast((ask) => isOf(ask, grant)) : asked.at(-1)
    // Without a holder the last request comes once more. A grant is claimed before it is released.
    if (last && !isStranger && !grant?.claimed) return last
    const operation = grant?.operation ?? drawn
    const owner = isStranger || !grant ? this.#node() : grant.owner
    const node = random.pick([{}, grant && { node: grant.node }, { node: this.#node() }])
    const fence = random.chance(1 / 8) ? this.#oldFence() : grant?.fence
    const by = { operation, ...node, owner, ...(fence !== undefined && { fence }) }
    switch (random.pick(['release', 'release', 'release', 'release', 'release', 'renew', 'revoke', 'progress'])) {
      case 'release':
        return {
          type: 'release',
          ...by,
          hold: isStranger || !last ? this.#hold() : last.hold,
          ...random.pick(OUTCOMES),
        }
      case 'renew':
        return { type: 'renew', ...by }
      case 'revoke':
        return {
          type: 'revoke',
          operation,
          ...(random.chance(0.5) && { by: 'ops' }),
          ...(random.chance(0.7) && { fence: fence ?? fences.at(-1) ?? 0 }),
        }
      default:
        return { type: 'progress', ...by, fence: fence ?? 0, progress: random.pick([1, null, { bytes: 2 }]) }
    }
  }

  #other(): Command {
    const random = this.#random
    const operation = this.#operation()
    const { node, owner } = this.#actor()
    const named = random.chance(0.5) ? { node } : {}
    const draw = random.integer(this.#cast.isStore ? 6 : 4)
    switch (draw) {
      case 0:
        return { type: 'cancel', operation, ...named, owner, hold: this.#holdOf(operation, owner) }
      case 1:
        return { type: 'acknowledge', operation, ...named, owner, hold: this.#holdOf(operation, owner) }
      case 2:
        return {
          type: random.pick(['add-reference', 'release-reference', 'release-reference', 'drop-node'] as const),
          node,
          ...(this.#cast.isStore && random.chance(0.5) && { seen: random.integer(random.pick([2, 8, 30])) }),
        }
      case 3:
        return { type: 'forget', operation, ...(random.chance(0.5) && { fence: this.#oldFence() }) }
      case 4: {
        const session = random.pick(this.#cast.sessions)
        const lost = { session, operation, ...named, owner }
        return random.pick<Command>([
          { type: 'session-lost', ...lost },
          { type: 'leave', ...lost },
          { type: 'leave', ...lost, closed: true },
        ])
      }
      default:
        return { type: random.pick(['expire', 'recover'] as const) }
    }
  }

  #operation(): string {
    return this.#random.pick(this.#cast.operations)
  }

  #node(): string {
    return this.#random.pick(this.#cast.nodes)
  }

  /** Owners are named after nodes, mostly their own. An actor is the pair. */
  #actor(): { readonly node: string; readonly owner: string } {
    const node = this.#node()
    return { node, owner: this.#random.chance(0.7) ? node : this.#node() }
  }

  #hold(): string {
    return this.#random.chance(0.1) ? `h${this.#situation.asked.length}` : this.#random.pick(['-', '-', '1', '1', '2'])
  }

  /** That of the last request of this owner, mostly. */
  #holdOf(operation: string, owner: string): string {
    const last = this.#situation.asked.findLast((ask) => ask.operation === operation && ask.owner === owner)
    return last && this.#random.chance(0.7) ? last.hold : this.#hold()
  }

  #disbelieved(): number {
    return this.#random.chance(0.5) ? Number.MAX_SAFE_INTEGER : this.#oldFence()
  }

  /** Of some time ago, or of no grant. */
  #oldFence(): number {
    const { fences } = this.#situation
    return fences.length > 0 && this.#random.chance(0.8) ? this.#random.pick(fences.slice(-6)) : 9_000_000_000
  }
}

function isOf(ask: Acquire, { operation, node, owner }: Holder): boolean {
  return ask.operation === operation && ask.node === node && ask.owner === owner
}
