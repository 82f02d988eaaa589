import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { completePolicy, isSamePolicy, type SaidPolicy } from '../../src/core/index.ts'
import type { Place, Store } from '../../src/stores/store.ts'

/* What versions before wrote is opened and goes on. How it was written: scripts/write-fixtures.mjs. */

const fixtures = fileURLToPath(new URL('../fixtures/', import.meta.url))

/** Version 1 was written before that script, and has tests of its own. */
export const versions = readdirSync(fixtures).filter((name) => /^version-\d+$/.test(name) && name !== 'version-1')

export const folderOf = (version: string) => `${fixtures}${version}`

interface Said {
  readonly nowMs: number
  readonly configured: SaidPolicy
  readonly policy: { readonly version: number; readonly policy: SaidPolicy }
  readonly sessions: readonly { readonly session: string; readonly places: readonly object[] | null }[]
  readonly views: Readonly<Record<string, object>>
  readonly standings: readonly [Parameters<Store['standing']>[0], object][]
}

export const saidOf = (version: string): Said => JSON.parse(readFileSync(`${folderOf(version)}/said.json`, 'utf8'))

/** Where a test lets time pass. */
export class Hours {
  #nowMs: number
  constructor(nowMs: number) {
    this.#nowMs = nowMs
  }
  nowMs(): number {
    return this.#nowMs
  }
  pass(hours: number): void {
    this.#nowMs += hours * 3_600_000
  }
}

/** Everything is as that version said; of what has come since, it said nothing. */
export async function checkSaid(store: Store, { views, standings, sessions, policy }: Said): Promise<void> {
  for (const [name, view] of Object.entries(views)) {
    const [namespace = '', resource = ''] = name.split('/')
    expect({ [name]: await store.read({ namespace, resource }) }).toMatchObject({ [name]: view })
  }
  for (const [ask, standing] of standings) expect([ask, await store.standing(ask)]).toEqual([ask, standing])
  for (const { session, places } of sessions) {
    const present = await store.places(session)
    const inOrder = (a: Place, b: Place) => (a.resource < b.resource ? -1 : 1)
    expect(present ? [...present].sort(inOrder) : null).toEqual(places)
  }
  const present = await store.policy()
  expect(present.version).toBe(policy.version)
  expect(isSamePolicy(present.policy, completePolicy(policy.policy))).toBe(true)
  expect(present.policy.namespaces.default!.operations.bake).toMatchObject({ attempts: 2 })
  expect(await store.read({ namespace: 'default', resource: 'paused' })).toMatchObject({
    pauses: [{ operation: 'compile', attempt: 2 }],
  })
}

const at = (resource: string, namespace = 'default') => ({ namespace, resource })
const acquire = (operation: string, node: string, more: object = {}) =>
  ({ type: 'acquire', operation, node, owner: `${node}-owner`, hold: '1', ttlMs: 30_000, ...more }) as const
const release = (operation: string, node: string, fence: number) =>
  ({ type: 'release', operation, owner: `${node}-owner`, hold: '1', fence, outcome: 'success' }) as const

/** Whatever was begun then comes to its end now. */
export async function goOnWith(store: Store, hours: Hours): Promise<void> {
  const step: Store['step'] = (address, command) => store.step(address, command)
  // What is kept is skipped on, with its result; what is used is not deleted.
  expect(await step(at('kept'), acquire('pull', 'n9'))).toMatchObject({ status: 'skip', result: { bytes: 42 } })
  const once = acquire('once', 'n9', { revision: 'r1' })
  expect(await step(at('kept'), once)).toMatchObject({ status: 'skip', result: 'twice', fence: 2 })
  expect(await step(at('referenced'), acquire('delete', 'n9'))).toEqual({ status: 'refused', code: 'in-use' })
  // A release that is repeated changes nothing; who waited is next, claims, and goes with its session.
  const ended = { status: 'released', outcome: 'success', holdsLeft: 0 }
  for (let times = 0; times < 2; times++) expect(await step(at('held'), release('lock', 'n1', 1))).toEqual(ended)
  const claim = acquire('lock', 'n2', { session: 's2' })
  expect(await step(at('held'), claim)).toMatchObject({ status: 'granted', fence: 3 })
  expect(await step(at('unclaimed'), claim)).toMatchObject({ status: 'granted', fence: 2, holds: 1 })
  expect(await step(at('paused'), acquire('compile', 'n9', { ttlMs: 80_000_000 }))).toEqual({
    status: 'queued',
    position: 2,
  })
  await store.closeSession('s2')
  expect((await store.read(at('held')))?.grants).toMatchObject([{ node: 'n3', fence: 4, claimed: false }])
  expect(await store.read(at('unclaimed'))).toMatchObject({
    grants: [],
    recent: [{ outcome: { outcome: 'cancelled' } }],
  })
  // One hold of two, and one grant for a whole resource, whose longest waiter is next.
  expect(await step(at('entered'), release('lock', 'n1', 1))).toMatchObject({ status: 'released', holdsLeft: 1 })
  expect(await step(at('shared', 'team'), release('delete', 'n1', 1))).toEqual(ended)
  expect((await store.read(at('shared', 'team')))?.grants).toMatchObject([{ operation: 'pull', node: 'n2', fence: 2 }])
  // Of what was forgotten its fence is known.
  expect(await step(at('idle'), acquire('lock', 'n9'))).toMatchObject({ status: 'granted', fence: 2 })
  // A pause ends, for the one who is still in line.
  hours.pass(1.1)
  await store.sweep(100)
  expect((await store.read(at('paused')))?.grants).toMatchObject([{ node: 'n9', fence: 2, attempt: 2 }])
  expect((await store.read(at('kept')))?.kept).toEqual([])
}
