import type { Backend } from '../remote/index.ts'
import type { Clock } from '../store.ts'
import type { BackendCase } from './backend-case.ts'
import { keepingParts } from './backend-parts.ts'
import { keepingSessions } from './backend-sessions.ts'
import { transactions } from './backend-transactions.ts'
import { SimulatedClock } from './simulated-clock.ts'

/** The backend under test, and the test runner. */
export interface BackendConformanceOptions {
  readonly name: string
  /** A process of its own on the data of that name, its time this clock's. New data is empty, but for a policy. */
  readonly open: (options: { readonly clock: Clock; readonly data: string }) => Promise<Backend>
  /** How the test runner in use declares a test. */
  readonly test: (name: string, run: () => Promise<void>) => void
}

/**
 * Tests all that the remote engine relies on, as `remote/backend.ts` says it: above all what happens between two processes,
 * which a test of a whole store cannot arrange.
 */
export function backendConformance({ name, open, test }: BackendConformanceOptions): void {
  const cases: BackendCase[] = [...transactions, ...keepingSessions, ...keepingParts]
  for (const [index, { claim, check }] of cases.entries()) {
    test(`${name}: ${claim}`, async () => {
      const clock = new SimulatedClock()
      const data = `backend_${index}`
      const backends: Backend[] = []
      try {
        for (let process = 0; process < 2; process++) backends.push(await open({ clock, data }))
        await backends[0]!.writePolicy('{}', 0)
        await check(backends[0]!, backends[1]!, clock)
      } finally {
        for (const backend of backends) await backend.close()
      }
    })
  }
}
