import type { NamedToken } from '@baton-lock/protocol'
import type { Timers } from '@baton-lock/service'
import type { Asker, Guard } from './guard.ts'

/** The clock on the wall may be set while a timer runs: it is looked at again after this. */
const LOOK_MS = 60_000

/** Ends a stream, with the reason. */
type End = (why: string) => void

interface TokenStreamsOptions {
  readonly guard: Pick<Guard, 'whyOver'>
  readonly timers: Timers
  readonly wallMs: () => number
}

/** The open streams of each token: they end when it is not good any more. */
export class TokenStreams {
  readonly #options: TokenStreamsOptions
  readonly #ends = new Map<NamedToken, Set<End>>()
  #stopTimer: (() => void) | undefined

  constructor(options: TokenStreamsOptions) {
    this.#options = options
  }

  /** Returns how to leave. Costs nothing where there are no tokens. */
  enter({ token }: Asker, end: End): () => void {
    if (!token) return () => {}
    const isFirst = !this.#ends.has(token)
    const ends = this.#ends.get(token) ?? new Set()
    this.#ends.set(token, ends.add(end))
    if (isFirst && token.expires) this.#startTimer()
    return () => {
      ends.delete(end)
      if (ends.size === 0 && this.#ends.get(token) === ends) this.#ends.delete(token)
    }
  }

  /** Ends those whose token has been removed, or has expired. */
  review(): void {
    for (const [token, ends] of this.#ends) {
      const why = this.#options.guard.whyOver(token)
      if (why === undefined) continue
      this.#ends.delete(token)
      for (const end of ends) end(why)
    }
    this.#startTimer()
  }

  close(): void {
    this.#stopTimer?.()
    this.#ends.clear()
  }

  /** For the first that expires; none where no open stream does. */
  #startTimer(): void {
    this.#stopTimer?.()
    this.#stopTimer = undefined
    const { timers, wallMs } = this.#options
    const expiresMs = Math.min(...[...this.#ends.keys()].map(({ expires }) => expires?.getTime() ?? Infinity))
    if (expiresMs === Infinity) return
    this.#stopTimer = timers.after(Math.max(0, Math.min(expiresMs - wallMs(), LOOK_MS)), () => this.review())
  }
}
