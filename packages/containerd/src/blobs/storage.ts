import { type ClientClock, pause } from '@baton-lock/client/internal'
import { ContentError } from '../errors.ts'

/** No call of containerd's may hang for longer than a second on a folder of another machine that does not answer. */
const LIMIT_MS = 700
/** A file call that hangs keeps one of Node's four threads: the others are for the files of this machine. */
const AT_A_TIME = 2

/** File calls on storage of other machines, which may hang: few at a time, each within a limit. */
export class Storage {
  readonly #clock: ClientClock
  readonly #what: string
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(clock: ClientClock, what: string) {
    this.#clock = clock
    this.#what = what
  }

  /** What the call returns or throws, or `storage-stalled` where it takes too long; then it may not have begun. */
  async call<Value>(work: () => Promise<Value>): Promise<Value> {
    const stop = new AbortController()
    let isLate = false
    const late = pause(this.#clock, LIMIT_MS, stop.signal).then(() => {
      isLate = true
      throw this.#stalled()
    })
    const begun = this.#enter(async () => {
      if (isLate) throw this.#stalled()
      return work()
    }).finally(() => stop.abort())
    begun.catch(() => {})
    return Promise.race([begun, late])
  }

  /** Whenever it can be done: nobody waits for it. */
  later(work: () => Promise<unknown>): void {
    this.#enter(work).catch(() => {})
  }

  async #enter<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.#running >= AT_A_TIME) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    else this.#running++
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#running--
    }
  }

  #stalled(): ContentError {
    return new ContentError(
      'storage-stalled',
      `${this.#what} does not answer; look at the file systems of the nodes' folders (a machine that is away?)`,
    )
  }
}
