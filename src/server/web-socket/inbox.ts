/** Requests of one frame, by the number of the first. */
export interface NumberedRequests {
  readonly from: number
  readonly requests: readonly unknown[]
  /** The numbers of those that have to be remembered. */
  readonly keep: readonly number[] | undefined
}

interface InboxOptions {
  /** Does it when this client has its turn. */
  readonly inTurn: (work: () => void) => void
  /** Takes a frame; what it asks for goes to `ask`. */
  readonly take: (text: string, ask: (requests: NumberedRequests) => void) => void
  readonly ask: (requests: NumberedRequests) => void
  /** Whether these may be asked some at a time, and still one after another. */
  readonly mayDivide: (requests: readonly unknown[]) => boolean
  /** So many bytes more, or less, wait. */
  readonly onWaiting: (change: number) => void
}

/** So many requests are answered in one turn: those of others come in between. */
const REQUESTS_A_TURN = 100
/** With more frames, or more of their text, nothing is read. */
const FRAMES_MAX = 8
const CHARS_MAX = 64 * 1024

/** What a client has sent: one frame a turn in their order, and of a large one some requests a turn. */
export class Inbox {
  readonly #options: InboxOptions
  #frames: string[] = []
  #chars = 0
  /** Of the frame that has its turn. */
  #left: NumberedRequests | undefined

  constructor(options: InboxOptions) {
    this.#options = options
  }

  get isFull(): boolean {
    return this.#frames.length >= FRAMES_MAX || this.#chars >= CHARS_MAX
  }

  add(text: string): void {
    this.#frames.push(text)
    this.#weigh(text.length)
    this.#options.inTurn(this.#goOn)
  }

  clear(): void {
    this.#frames = []
    this.#left = undefined
    this.#weigh(-this.#chars)
  }

  #weigh(chars: number): void {
    if (chars === 0) return
    this.#chars += chars
    this.#options.onWaiting(chars)
  }

  readonly #goOn = (): void => {
    if (this.#left) this.#ask(this.#left)
    else {
      const text = this.#frames.shift()
      if (text === undefined) return
      this.#weigh(-text.length)
      this.#options.take(text, this.#ask)
    }
  }

  readonly #ask = ({ from, requests, keep }: NumberedRequests): void => {
    const { ask, inTurn, mayDivide } = this.#options
    const count = REQUESTS_A_TURN
    const isMore = requests.length > count && mayDivide(requests)
    this.#left = isMore ? { from: from + count, requests: requests.slice(count), keep } : undefined
    ask({ from, requests: isMore ? requests.slice(0, count) : requests, keep })
    if (isMore) inTurn(this.#goOn)
  }
}
