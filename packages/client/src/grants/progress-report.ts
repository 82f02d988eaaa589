import type { Json } from '@baton-lock/core'
import type { ErrorBody, Place } from '@baton-lock/protocol'
import type { ClientParts } from '../client-parts.ts'

const INTERVAL_MS = 250

/** Sends the progress of the work a few times a second at most; of reports that come faster, the last counts. */
export class ProgressReport {
  readonly #client: ClientParts
  readonly #grant: { readonly place: Place; readonly fence: number }
  readonly #onRefused: (refusal: ErrorBody) => void
  #latest: { readonly progress: Json } | undefined
  #resting = false
  #stopped = false
  #cancelTimer = () => {}

  constructor(
    client: ClientParts,
    grant: { readonly place: Place; readonly fence: number },
    onRefused: (refusal: ErrorBody) => void,
  ) {
    this.#client = client
    this.#grant = grant
    this.#onRefused = onRefused
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
    this.#cancelTimer = this.#client.clock.after(INTERVAL_MS, () => {
      this.#resting = false
      void this.#sendLatest()
    })
  }

  async #send(progress: Json): Promise<void> {
    const { place, fence } = this.#grant
    const reply = await this.#client.sender.request<'progress'>({ type: 'progress', ...place, fence, progress })
    if (reply.status === 'refused') this.#onRefused(reply)
  }
}
