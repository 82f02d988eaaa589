import { type ClientClock, pause } from '@baton-lock/client/internal'

/** So often a server is looked at while somebody waits for it. */
const LOOK_MS = 1_000

/**
 * Whether a lock server answers, while somebody has to know. A look that is not answered within the seconds that the SDK
 * tries for says that it is away; from then on nobody waits those seconds again, until a look is answered.
 */
export class Reachability {
  readonly #clock: ClientClock
  readonly #look: () => Promise<unknown>
  readonly #onChange: (isAway: boolean) => void
  readonly #closed = new AbortController()
  readonly #watchers = new Set<() => void>()
  #isAway = false
  #isLooking = false

  constructor(clock: ClientClock, look: () => Promise<unknown>, onChange: (isAway: boolean) => void) {
    this.#clock = clock
    this.#look = look
    this.#onChange = onChange
  }

  get isAway(): boolean {
    return this.#isAway
  }

  /** Calls back when it is away, at once where that is known. Returns how to stop. */
  watch(onAway: () => void): () => void {
    if (this.#isAway) {
      onAway()
      return () => {}
    }
    this.#watchers.add(onAway)
    void this.#keepLooking()
    return () => this.#watchers.delete(onAway)
  }

  close(): void {
    this.#closed.abort(new Error('closed'))
  }

  async #keepLooking(): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    while (!this.#closed.signal.aborted && (this.#isAway || this.#watchers.size > 0)) {
      const isAway = await this.#look().then(
        () => false,
        () => true,
      )
      if (this.#closed.signal.aborted) break
      if (isAway !== this.#isAway) this.#onChange(isAway)
      this.#isAway = isAway
      if (isAway) {
        for (const onAway of this.#watchers) onAway()
        this.#watchers.clear()
      }
      await pause(this.#clock, LOOK_MS, this.#closed.signal).catch(() => {})
    }
    this.#isLooking = false
  }
}
