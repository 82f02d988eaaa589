import type { Policy } from '@baton-lock/core'
import type { Clock, Store } from '../store.ts'
import { agreesWithTheCore } from './agreement.ts'
import type { Case, World } from './case.ts'
import { deciding } from './deciding.ts'
import { carrying } from './events.ts'
import { reopening } from './reopening.ts'
import { keeping } from './retention.ts'
import { sessions } from './sessions.ts'
import { sharing } from './sharing.ts'
import { SimulatedClock } from './simulated-clock.ts'

/** The store under test, and the test runner. */
export interface ConformanceOptions {
  readonly name: string
  /**
   * A store whose time is this clock's, on the data of that name: new and empty where the name is new. A name comes again
   * only where `isShared` or `isKept`.
   */
  readonly open: (options: ConformanceStore) => Promise<Store> | Store
  /** Whether several processes work on the same data. */
  readonly isShared?: boolean
  /** Whether the data are there again when the store was closed and is opened anew. */
  readonly isKept?: boolean
  /** How the test runner in use declares a test. */
  readonly test: (name: string, run: () => Promise<void>) => void
  /** How many runs of random commands: fewer for a store that takes its time. Default: 20. */
  readonly seeds?: number
  /** Tests that this store cannot pass, by name, each with the reason. */
  readonly skip?: readonly { readonly test: string; readonly reason: string }[]
}

/** What a store under test is opened with. */
export interface ConformanceStore {
  readonly clock: Clock
  readonly policy: Policy
  readonly data: string
}

/** The tests that every store passes: all that `store.ts` says. */
export function storeConformance({
  name,
  open,
  isShared = false,
  isKept = false,
  test,
  seeds = 20,
  skip = [],
}: ConformanceOptions): void {
  const cases: Case[] = [...deciding, ...keeping, ...sessions, ...carrying, ...agreesWithTheCore]
  if (isShared) cases.push(...sharing)
  if (isKept) cases.push(...reopening)
  let opened = 0
  for (const { test: unknown } of skip.filter((entry) => !cases.some((each) => each.claim === entry.test))) {
    throw new Error(`storeConformance: there is no test '${unknown}' to skip`)
  }
  for (const { claim, policy, check } of cases) {
    if (skip.some((entry) => entry.test === claim)) continue
    test(`${name}: ${claim}`, async () => {
      const clock = new SimulatedClock()
      const stores: Store[] = []
      const openOn = async (data: string, chosen: Policy) => {
        const store = await open({ clock, policy: chosen, data })
        stores.push(store)
        return store
      }
      const data = `store_${++opened}`
      const world: World = {
        clock,
        seeds,
        open: (chosen) => openOn(`store_${++opened}`, chosen),
        beside: () => openOn(data, policy),
        reopen: async () => {
          for (const store of stores.splice(0)) await store.close()
          return openOn(data, policy)
        },
      }
      try {
        await check(await openOn(data, policy), world)
      } finally {
        for (const store of stores) await store.close()
      }
    })
  }
}
