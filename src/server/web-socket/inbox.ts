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
}

/** So many requests are answered in one turn: those of others come in between. */
const REQUESTS_A_TURN = 100

/** What a client has sent: one frame a turn in their order, and of a large one some requests a turn. */
export class Inbox {
  readonly #options: InboxOptions
  #frames: string[] = []
  /** Of the frame that has its turn. */
  #left: NumberedRequests | undefined

  constructor(options: InboxOptions) {
    this.#options = options
  }

  /** How many frames wait. */
  get size(): number {
    return this.#frames.length
  }

  add(text: string): void {
    this.#frames.push(text)
    this.#options.inTurn(this.#goOn)
  }

  clear(): void {
    this.#frames = []
    this.#left = undefined
  }

  readonly #goOn = (): void => {
    if (this.#left) this.#ask(this.#left)
    else {
      const text = this.#frames.shift()
      if (text !== undefined) this.#options.take(text, this.#ask)
    }
  }

  readonly #ask = ({ from, requests, keep }: NumberedRequests): void => {
    const { ask, inTurn } = this.#options
    const count = REQUESTS_A_TURN
    const isMore = requests.length > count
    this.#left = isMore ? { from: from + count, requests: requests.slice(count), keep } : undefined
    ask({ from, requests: isMore ? requests.slice(0, count) : requests, keep })
    if (isMore) inTurn(this.#goOn)
  }
}
