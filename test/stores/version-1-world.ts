import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { type Command, completePolicy, isSamePolicy, type Policy } from '../../src/core/index.ts'
import type { Store } from '../../src/stores/store.ts'

/* What the version before wrote is opened and goes on. How it was written: test/fixtures/version-1/README.md. */

export const fixtures = fileURLToPath(new URL('../fixtures/version-1/', import.meta.url))

export interface Written {
  readonly nowMs: number
  readonly configured: Policy
  readonly policy: { readonly version: number; readonly policy: Policy }
  readonly sessions: readonly { readonly session: string; readonly places: readonly object[] }[]
  readonly views: Readonly<Record<string, object>>
  readonly standings: readonly [Parameters<Store['standing']>[0], object][]
}

export const written = (name: string): Written => JSON.parse(readFileSync(fixtures + name, 'utf8'))
const queue = { namespace: 'default', resource: 'r-queue' }

/** Everything is as that version said; of what has come since, it said nothing. */
export async function check(store: Store, { views, standings, sessions, policy }: Written): Promise<void> {
  for (const [name, view] of Object.entries(views)) {
    const [namespace = '', resource = ''] = name.split('/')
    expect({ [name]: await store.read({ namespace, resource }) }).toMatchObject({ [name]: view })
  }
  for (const [ask, standing] of standings) expect([ask, await store.standing(ask)]).toEqual([ask, standing])
  for (const { session, places } of sessions) expect(await store.places(session)).toMatchObject(places)
  const present = await store.policy()
  expect(present.version).toBe(policy.version)
  expect(isSamePolicy(present.policy, completePolicy(policy.policy))).toBe(true)
  expect(present.policy.namespaces.default!.operations.delete).toMatchObject({ dropsReferences: true })
  expect(present.policy.namespaces.default!.operations.bake).toMatchObject({ dropsReferences: false })
}

/** Who held releases, who waited is next, and the sessions of then take with them what hangs off them. */
export async function goOn(store: Store): Promise<void> {
  const step = (command: Command) => store.step(queue, command)
  const end = { type: 'release', operation: 'lock', outcome: 'failure', error: 'x' } as const
  expect(await step({ ...end, owner: 'o1', hold: 'h1', fence: 1 })).toMatchObject({ status: 'released' })
  expect(await step({ ...end, owner: 'o1', hold: 'h1', fence: 1 })).toMatchObject({ status: 'released' })
  expect((await store.read(queue))?.grants).toMatchObject([{ node: 'n2', owner: 'o2', fence: 2, claimed: false }])
  await store.closeSession('s2')
  expect((await store.read(queue))?.grants).toMatchObject([{ node: 'n3', fence: 3 }])
  expect(await store.places('s1')).toEqual([])
  expect(await store.places('s2')).toBeUndefined()
}
