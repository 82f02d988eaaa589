import assert from 'node:assert/strict'
import {
  builtInOperations,
  type Command,
  type Facts,
  type GrantView,
  type Json,
  type ReportedOutcome,
} from '../../core/index.ts'
import { openMemoryStore } from '../../stores/memory/index.ts'
import type { Address, Store } from '../../stores/store.ts'
import { type Random, seededRandom } from '../random.ts'
import { type Case, claim, pass, SPAN } from './case.ts'

/**
 * Random commands on the store and on the core in memory, side by side at the same times: they must answer alike.
 * Fences may differ in value (a store may pass a floor in), so they are compared by what they stand for.
 */
export const agreesWithTheCore: readonly Case[] = (['operation', 'resource'] as const).map((exclusion) =>
  claim(
    `it decides as the core does, over random commands (exclusion: ${exclusion})`,
    async (store, { clock, seeds }) => {
      for (let seed = 1; seed <= seeds; seed++) {
        const { policy } = await store.policy()
        const reference = openMemoryStore({ clock, policy })
        const run = new SideBySide({ store, reference, random: seededRandom(seed), prefix: `${exclusion}-${seed}` })
        for (let count = 0; count < 150; count++) {
          try {
            await run.step()
          } catch (error) {
            throw new Error(`seed ${seed}, command ${count + 1}: ${run.last}`, { cause: error })
          }
          const passMs = run.pauseMs()
          if (passMs > 0) await pass(store, clock, passMs, reference)
        }
      }
    },
    {
      exclusion,
      operations: {
        ...builtInOperations,
        update: { ...builtInOperations.update!, attempts: 2 },
        lock: { ...builtInOperations.lock!, retryDelayMs: 700 },
      },
    },
  ),
)

const nodes = ['a', 'b', 'c', 'd', 'e'] as const
const operations = ['pull', 'update', 'delete', 'lock'] as const

type Holder = Pick<GrantView, 'operation' | 'node' | 'owner' | 'fence'>

class SideBySide {
  readonly #store: Store
  readonly #reference: Store
  readonly #random: Random
  readonly #prefix: string
  /** Fence of the reference → fence of the store, for each resource. */
  readonly #fences = new Map<string, number>()
  #holds = 0
  last = ''

  constructor({
    store,
    reference,
    random,
    prefix,
  }: { store: Store; reference: Store; random: Random; prefix: string }) {
    this.#store = store
    this.#reference = reference
    this.#random = random
    this.#prefix = prefix
  }

  pauseMs(): number {
    return this.#random.chance(0.2) ? this.#random.pick([100, 700, 2_000, 5_000, 11_000, 61_000]) : 0
  }

  async step(): Promise<void> {
    if (this.#random.chance(0.1)) return this.#session()
    const address = { namespace: 'default', resource: `${this.#prefix}-${this.#random.pick(['x', 'y'])}` }
    const view = await this.#reference.read(address)
    const command = this.#command(address.resource, view?.grants ?? [])
    this.last = JSON.stringify({ ...address, ...command })
    const facts = this.#facts()
    const expected = await this.#reference.step(address, command, facts)
    const actual = await this.#store.step(address, this.#translated(address.resource, command), facts)
    this.#same(address.resource, actual, expected)
    this.#same(address.resource, await this.#store.read(address), await this.#reference.read(address))
    if (this.#random.chance(0.3)) await this.#look(address)
  }

  /** What can be asked of a store beside the whole view must be the same too. */
  async #look(address: Address): Promise<void> {
    const random = this.#random
    const operation = random.pick(operations)
    const ask = { ...address, operation, owner: random.pick(nodes), hold: random.pick(['1', '-']) }
    const named = random.chance(0.5) ? { ...ask, node: random.pick(nodes) } : ask
    const page = { limit: random.pick([1, 2, 100]), ...(random.chance(0.5) && { after: random.pick([0, 1, 2, 3]) }) }
    const looks = [this.#store, this.#reference].map(async (store) => {
      return [await store.standing(named), await store.lateSkip(address, operation), await store.waiters(address, page)]
    })
    const [actual, expected] = await Promise.all(looks)
    this.last += `, then a look at ${JSON.stringify({ named, page })}`
    this.#same(address.resource, actual, expected)
  }

  #facts(): Facts | undefined {
    const random = this.#random
    if (random.chance(0.7)) return undefined
    if (random.chance(0.3)) return random.pick([{ mayQueue: false }, { hasRoom: false }, { mayReference: false }])
    return { actsFor: [random.pick(nodes), random.pick(nodes)] }
  }

  async #session(): Promise<void> {
    const session = `${this.#prefix}-${this.#random.pick(nodes)}`
    const kind = this.#random.pick(['open', 'renew', 'close'])
    this.last = `${kind} session ${session}`
    const both = [this.#store, this.#reference].map((store) =>
      kind === 'open'
        ? store.openSession({ session, node: 'n', ttlMs: 5_000 })
        : kind === 'renew'
          ? store.renewSession(session)
          : store.closeSession(session),
    )
    const [actual, expected] = await Promise.all(both)
    assert.deepEqual(actual, expected)
  }

  #command(resource: string, grants: readonly Holder[]): Command {
    const random = this.#random
    const node = random.pick(nodes)
    // Owners are often those of another node: then they are somebody else.
    const owner = random.chance(0.8) ? node : random.pick(nodes)
    const operation = random.pick(operations)
    const held = grants.length > 0 && random.chance(0.8) ? random.pick(grants) : undefined
    const holder = held ?? { operation, node, owner, fence: this.#oldFence(resource) }
    const own = random.chance(0.6) ? '1' : '-'
    const hold = random.chance(0.8) ? own : `h${random.chance(0.5) ? ++this.#holds : this.#holds}`
    const named = random.chance(0.3) ? { node: holder.node } : {}
    switch (
      random.pick([
        'acquire',
        'acquire',
        'acquire',
        'acquire',
        'release',
        'release',
        'release',
        'renew',
        'cancel',
        'revoke',
        'forget',
        'progress',
        'heard',
        'acknowledge',
        'refs',
      ])
    ) {
      case 'acquire':
        return {
          type: 'acquire',
          operation: random.chance(0.9) ? operation : 'image-layer',
          node,
          owner,
          hold,
          ttlMs: random.pick([1_000, 5_000, 30_000]),
          ...(random.chance(0.3) && { session: `${this.#prefix}-${node}` }),
          ...(random.chance(0.2) && { waitMs: random.pick([0, 1_000, 5_000]) }),
          ...(random.chance(0.2) && { revision: random.pick(['v1', 'v2']) }),
          ...(random.chance(0.1) && { disbelieve: Number.MAX_SAFE_INTEGER }),
          ...(random.chance(0.2) && { reference: false }),
          ...(random.chance(0.2) && { dropReference: true }),
          ...(random.chance(0.05) && { verified: true }),
          ...(random.chance(0.1) && { verifies: true }),
          ...(random.chance(0.2) && { classic: true }),
        }
      case 'release':
        return {
          type: 'release',
          operation: holder.operation,
          ...named,
          owner: holder.owner,
          hold,
          fence: holder.fence,
          ...this.#outcome(),
        }
      case 'renew':
        return { type: 'renew', operation: holder.operation, ...named, owner: holder.owner, fence: holder.fence }
      case 'cancel':
        return { type: 'cancel', operation, ...(random.chance(0.5) && { node }), owner, hold }
      case 'progress':
        return {
          type: 'progress',
          operation: holder.operation,
          ...named,
          owner: holder.owner,
          fence: holder.fence,
          progress: random.pick([1, 2]),
        }
      case 'heard':
        return { type: 'heard', askers: [{ operation, node, owner, fence: random.chance(0.5) ? 0 : holder.fence }] }
      case 'acknowledge':
        return { type: 'acknowledge', operation, ...(random.chance(0.5) && { node }), owner, hold }
      case 'revoke':
        return { type: 'revoke', operation: holder.operation, ...(random.chance(0.5) && { fence: holder.fence }) }
      case 'forget':
        return { type: 'forget', operation }
      default:
        return { type: random.pick(['add-reference', 'release-reference', 'drop-node'] as const), node }
    }
  }

  /** One that was granted some time ago, or never. */
  #oldFence(resource: string): number {
    const known = [...this.#fences.keys()].filter((name) => name.startsWith(`${resource} `))
    return known.length > 0 ? Number(this.#random.pick(known).slice(resource.length + 1)) : 9_000_000_000
  }

  #outcome(): ReportedOutcome {
    const random = this.#random
    if (random.chance(0.1)) return { outcome: 'cancelled' }
    const spanned = random.chance(0.2) && { traceparent: SPAN }
    if (random.chance(0.5))
      return { outcome: 'failure', error: 'boom', ...(random.chance(0.2) && { permanent: true }), ...spanned }
    return {
      outcome: 'success',
      ...(random.chance(0.3) && { result: { n: 1 } }),
      ...(random.chance(0.1) && { effect: 'none' }),
      ...(random.chance(0.2) && { keepMs: random.pick([0, 3_000]) }),
      ...spanned,
    }
  }

  /** Equal in all but the values of the fences; and each fence of the reference is always the same one of the store. */
  #same(resource: string, actual: unknown, expected: unknown): void {
    const fencesOf = (value: unknown) => {
      const fences: number[] = []
      const bare = JSON.parse(JSON.stringify(value ?? null), (key, each: Json) => {
        if (key !== 'fence' || typeof each !== 'number' || each === 0) return each
        fences.push(each)
        return 'a fence'
      })
      return { bare, fences }
    }
    const [mine, theirs] = [fencesOf(actual), fencesOf(expected)]
    assert.deepEqual(mine.bare, theirs.bare)
    for (const [index, fence] of theirs.fences.entries()) {
      const name = `${resource} ${fence}`
      const known = this.#fences.get(name) ?? mine.fences[index]!
      assert.equal(mine.fences[index], known, 'the same grant has the same fence')
      this.#fences.set(name, known)
    }
  }

  /** The same command with every fence as the store has it. Fences of grants that never were stay as they are. */
  #translated<Value>(resource: string, value: Value): Value {
    return JSON.parse(JSON.stringify(value), (key, each: Json) =>
      key === 'fence' && typeof each === 'number' ? (this.#fences.get(`${resource} ${each}`) ?? each) : each,
    )
  }
}
