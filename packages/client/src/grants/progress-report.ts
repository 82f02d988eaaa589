import type { Json } from '@baton-lock/core'
import type { ClientClock } from '../clock.ts'

const INTERVAL_MS = 250

/** Sends the progress of the work a few times a second at most; of reports that come faster, the last counts. */
export class ProgressReport {
  readonly #clock: ClientClock
  readonly #send: (progress: Json) => Promise<void>
  #latest: { readonly progress: Json } | undefined
  #resting = false
  #stopped = false
  #cancelTimer = () => {}

  constructor(clock: ClientClock, send: (progress: Json) => Promise<void>) {
    this.#clock = clock
    this.#send = send
  }

  say(progress: Json): void {
    this.#latest = { progress }
    if (!this.#resting) void this.#sendLatest()
  }

  stop(): void {
    this.#stopped = true
    this.#cancelTimer()
  }

  async #sendLatest(): Promise<void> {
    const latest = this.#latest
    if (!latest || this.#stopped) return
    this.#latest = undefined
    this.#resting = true
    // Progress that does not arrive is not worth a second try.
    await this.#send(latest.progress).catch(() => {})
    if (this.#stopped) return
    this.#cancelTimer = this.#clock.after(INTERVAL_MS, () => {
      this.#resting = false
      void this.#sendLatest()
    })
  }
}
