import type { Event } from '@baton-lock/core'
import type { Log } from '../log.ts'
import type { Timers } from '../timers/timers.ts'

/** So many in this time: enough to see why something fails, and too few for a client in a loop to fill a disk (40 MB a day). */
const AT_MOST = 10
const WINDOW_MS = 10_000
/** The error is a client's text. What matters of it comes first. */
const ERROR_CHARS = 500

/** Logs why work has failed, as its holder says. What is too much is counted. */
export class FailureLog {
  readonly #log: Log
  readonly #timers: Timers
  #logged = 0
  #left = 0
  #stop: (() => void) | undefined

  constructor(log: Log, timers: Timers) {
    this.#log = log
    this.#timers = timers
  }

  note(event: Event): void {
    if (event.type !== 'ended' || event.outcome.outcome !== 'failure') return
    this.#stop ??= this.#timers.after(WINDOW_MS, () => this.#endWindow())
    if (this.#logged === AT_MOST) {
      this.#left++
      return
    }
    this.#logged++
    const { namespace, resource, operation, node, fence, attempt, heldMs, outcome } = event
    const fields = { namespace, resource, operation, node, fence, attempt, heldMs }
    const error = outcome.error.slice(0, ERROR_CHARS)
    this.#log.info('work failed', { ...fields, error, ...(outcome.permanent && { permanent: true }) })
  }

  stop(): void {
    this.#stop?.()
    this.#endWindow()
  }

  #endWindow(): void {
    this.#stop = undefined
    if (this.#left > 0) this.#log.info('more work failed', { count: this.#left })
    this.#logged = 0
    this.#left = 0
  }
}
