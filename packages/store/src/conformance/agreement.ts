import assert from 'node:assert/strict'
import { type Acquire, builtInOperations, type Json, type ResourceView } from '@baton-lock/core'
import { openMemoryStore } from '../memory/index.ts'
import { type Address, durableStep, type Store } from '../store.ts'
import { type Case, claim, pass } from './case.ts'
import { type Random, seededRandom } from './random.ts'
import { type Cast, drawCommand, drawFacts } from './random-commands.ts'

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

const NODES = ['a', 'b', 'c', 'd', 'e'] as const
const OPERATIONS = ['pull', 'update', 'delete', 'lock'] as const

class SideBySide {
  readonly #store: Store
  readonly #reference: Store
  readonly #random: Random
  readonly #prefix: string
  readonly #cast: Cast
  /** Fence of the reference → fence of the store, for each resource. */
  readonly #fences = new Map<string, Map<number, number>>()
  /** The requests so far, for each resource. */
  readonly #asked = new Map<string, Acquire[]>()
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
    const operations = [...OPERATIONS, ...OPERATIONS, 'image-layer']
    this.#cast = { nodes: NODES, operations, sessions: NODES.map((node) => `${prefix}-${node}`) }
  }

  pauseMs(): number {
    return this.#random.chance(0.2) ? this.#random.pick([100, 700, 2_000, 5_000, 11_000, 61_000]) : 0
  }

  async step(): Promise<void> {
    const random = this.#random
    if (random.chance(0.1)) return this.#session()
    const address = { namespace: 'default', resource: `${this.#prefix}-${random.pick(['x', 'y'])}` }
    const { resource } = address
    const view = await this.#reference.read(address)
    const asked = entry(this.#asked, resource, () => [])
    const fences = [...this.#fencesOf(resource).keys()]
    const command = drawCommand(random, this.#cast, { grants: view?.grants ?? [], asked, fences })
    if (command.type === 'acquire') asked.push(command)
    const facts = drawFacts(random, this.#cast)
    this.last = JSON.stringify({ ...address, ...command, facts })
    const expected = await durableStep(this.#reference, address, command, facts)
    const actual = await durableStep(this.#store, address, this.#translated(resource, command), facts)
    this.#same(resource, actual, expected)
    this.#same(resource, shown(await this.#store.read(address)), shown(await this.#reference.read(address)))
    if (random.chance(0.3)) await this.#look(address)
  }

  /** What can be asked of a store beside the whole view must be the same too. */
  async #look(address: Address): Promise<void> {
    const random = this.#random
    const operation = random.pick(OPERATIONS)
    const ask = { ...address, operation, owner: random.pick(NODES), hold: random.pick(['1', '-']) }
    const named = random.chance(0.5) ? { ...ask, node: random.pick(NODES) } : ask
    const page = { limit: random.pick([1, 2, 100]), ...(random.chance(0.5) && { after: random.pick([0, 1, 2, 3]) }) }
    const looks = [this.#store, this.#reference].map(async (store) => {
      return [await store.standing(named), await store.lateSkip(address, operation), await store.waiters(address, page)]
    })
    const [actual, expected] = await Promise.all(looks)
    this.last += `, then a look at ${JSON.stringify({ named, page })}`
    this.#same(address.resource, actual, expected)
  }

  async #session(): Promise<void> {
    const session = this.#random.pick(this.#cast.sessions)
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

  #fencesOf(resource: string): Map<number, number> {
    return entry(this.#fences, resource, () => new Map())
  }

  /** Equal in all but the values of the fences; and each fence of the reference is always the same one of the store. */
  #same(resource: string, actual: unknown, expected: unknown): void {
    const bareOf = (value: unknown) => {
      const fences: number[] = []
      const bare = JSON.parse(JSON.stringify(value ?? null), (key, each: Json) => {
        if (key !== 'fence' || typeof each !== 'number' || each === 0) return each
        fences.push(each)
        return 'a fence'
      })
      return { bare, fences }
    }
    const [mine, theirs] = [bareOf(actual), bareOf(expected)]
    assert.deepEqual(mine.bare, theirs.bare)
    const known = this.#fencesOf(resource)
    for (const [index, fence] of theirs.fences.entries()) {
      const same = entry(known, fence, () => mine.fences[index]!)
      assert.equal(mine.fences[index], same, 'the same grant has the same fence')
    }
  }

  /** The same command with every fence as the store has it. Fences of grants that never were stay as they are. */
  #translated<Value>(resource: string, value: Value): Value {
    const known = this.#fencesOf(resource)
    return JSON.parse(JSON.stringify(value), (key, each: Json) =>
      (key === 'fence' || key === 'disbelieve') && typeof each === 'number' ? (known.get(each) ?? each) : each,
    )
  }
}

/** An idle resource has no view, or an empty one: a store may take a while to forget what cannot be seen of it. */
function shown(view: ResourceView | undefined): ResourceView | undefined {
  if (!view) return undefined
  const { grants, waiters, references, kept, recent, pauses } = view
  return [grants, waiters, references, kept, recent, pauses].every((each) => each.length === 0) ? undefined : view
}

function entry<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const value = map.get(key) ?? make()
  map.set(key, value)
  return value
}
