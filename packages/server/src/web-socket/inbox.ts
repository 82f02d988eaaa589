/** Requests of one frame, by the number of the first. */
export interface NumberedRequests {
  readonly from: number
  readonly requests: readonly unknown[]
  /** The numbers of those that have to be remembered. */
  readonly keep: readonly number[] | undefined
}

/** How many requests of one client are carried out in one turn, before others have theirs. */
const REQUESTS_A_TURN = 100
/** With more frames, or more of their text, the socket is not read. */
const FRAMES_MAX = 8
const CHARS_MAX = 64 * 1024

/** What a client has sent and the server has not done yet: whole frames, and the rest of a large one. */
export class Inbox {
  /** Called with how many characters more, or fewer, wait. */
  readonly #onWaiting: (change: number) => void
  #frames: string[] = []
  #chars = 0
  #rest: NumberedRequests | undefined

  constructor(onWaiting: (change: number) => void) {
    this.#onWaiting = onWaiting
  }

  get isFull(): boolean {
    return this.#frames.length >= FRAMES_MAX || this.#chars >= CHARS_MAX
  }

  add(text: string): void {
    this.#frames.push(text)
    this.#weigh(text.length)
  }

  /** The next frame. */
  take(): string | undefined {
    const text = this.#frames.shift()
    if (text !== undefined) this.#weigh(-text.length)
    return text
  }

  /** The rest of the frame that is under way. */
  takeRest(): NumberedRequests | undefined {
    const rest = this.#rest
    this.#rest = undefined
    return rest
  }

  /** As many as one turn takes, if they may be divided; `takeRest` has the others. */
  divide(all: NumberedRequests, mayDivide: (requests: readonly unknown[]) => boolean): NumberedRequests {
    const { from, requests, keep } = all
    const count = REQUESTS_A_TURN
    if (requests.length <= count || !mayDivide(requests)) return all
    this.#rest = { from: from + count, requests: requests.slice(count), keep }
    return { from, requests: requests.slice(0, count), keep }
  }

  get hasRest(): boolean {
    return this.#rest !== undefined
  }

  clear(): void {
    this.#frames = []
    this.#rest = undefined
    this.#weigh(-this.#chars)
  }

  #weigh(chars: number): void {
    if (chars === 0) return
    this.#chars += chars
    this.#onWaiting(chars)
  }
}
