import type { Store } from '@baton-lock/store/store'
import type { ServerRecord, StepRecord } from './history.ts'
import { Journal } from './journal.ts'
import { recordSessions } from './record-sessions.ts'
import { watchDeadlocks } from './watch-deadlocks.ts'

interface ServerHistory {
  /** To be told of every step that the store takes, in its order and as it takes it. */
  readonly onStep: (step: Omit<StepRecord, 'kind'>) => void
  /**
   * The same store, with a record of its sessions and of what it has made durable. `answers`: what it answers is recorded too,
   * for one that others share, and that writes its steps down itself.
   */
  of(store: Store, options?: { readonly answers?: boolean }): Store
}

const HEAP_MS = 5_000

/** What `BATON_HISTORY=FILE` makes of a server: it writes down all that its store does, for `checkHistory`. */
export function openServerHistory(path: string, nowMs: () => number): ServerHistory {
  const journal = new Journal(path)
  let taken = 0
  let kept = 0
  const note = (what: ServerRecord['what'], count: number) =>
    journal.write({ kind: 'server', nowMs: nowMs(), what, count })
  const weigh = () => {
    // There with --expose-gc: only what is left after a collection says whether the heap grows.
    ;(globalThis as { gc?: () => void }).gc?.()
    note('heap', process.memoryUsage().heapUsed)
  }
  note('started', 0)
  setInterval(weigh, HEAP_MS).unref()
  return {
    onStep(step) {
      taken++
      journal.write({ kind: 'step', ...step })
    },
    of(store, { answers = false } = {}) {
      const sessions = recordSessions(store, (record) => journal.write(record), { asks: true })
      const recorded = watchDeadlocks(sessions, (errno) => note('deadlock', errno))
      const noteKept = (before: number) => {
        if (before > kept) note('kept', before)
        kept = Math.max(kept, before)
      }
      return {
        ...recorded,
        step(address, command, facts) {
          const reply = recorded.step(address, command, facts)
          if (!(reply instanceof Promise)) return reply
          const { namespace, resource } = address
          return reply.then((each) => {
            if (answers) journal.write({ kind: 'answer', nowMs: nowMs(), namespace, resource, command, reply: each })
            return each
          })
        },
        // What is written down is known to be durable before anybody is told.
        durable() {
          const before = taken
          const durable = recorded.durable()
          if (durable) return durable.then(() => noteKept(before))
          noteKept(before)
          return undefined
        },
      }
    },
  }
}
