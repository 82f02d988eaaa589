import type { Policy } from '../core/index.ts'
import type { Clock, Store } from '../stores/store.ts'
import { agreesWithTheCore } from './conformance/agreement.ts'
import { carrying } from './conformance/carrying.ts'
import type { Case, World } from './conformance/case.ts'
import { deciding } from './conformance/deciding.ts'
import { keeping } from './conformance/keeping.ts'
import { sessions } from './conformance/sessions.ts'
import { SimulatedClock } from './simulated-clock.ts'

export interface ConformanceOptions {
  readonly name: string
  /** A new, empty store whose time is this clock's. */
  readonly open: (options: { readonly clock: Clock; readonly policy: Policy }) => Promise<Store> | Store
  /** How the test runner in use declares a test. */
  readonly test: (name: string, run: () => Promise<void>) => void
  /** Tests that this store cannot pass, by name, each with the reason. */
  readonly skip?: readonly { readonly test: string; readonly reason: string }[]
}

/** The tests that every store passes: what `stores/store.ts` says, line by line. */
export function storeConformance({ name, open, test, skip = [] }: ConformanceOptions): void {
  const cases: Case[] = [...deciding, ...keeping, ...sessions, ...carrying, ...agreesWithTheCore]
  for (const { test: unknown } of skip.filter((entry) => !cases.some((each) => each.claim === entry.test))) {
    throw new Error(`storeConformance: there is no test '${unknown}' to skip`)
  }
  for (const { claim, policy, check } of cases) {
    if (skip.some((entry) => entry.test === claim)) continue
    test(`${name}: ${claim}`, async () => {
      const clock = new SimulatedClock()
      const opened: Store[] = []
      const world: World = {
        clock,
        open: async (chosen) => {
          const store = await open({ clock, policy: chosen })
          opened.push(store)
          return store
        },
      }
      try {
        await check(await world.open(policy), world)
      } finally {
        for (const store of opened) await store.close()
      }
    })
  }
}
