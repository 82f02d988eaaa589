import type { ClientFrame, ServiceRequest } from '@baton-lock/protocol'
import { isReading, isStepping } from '@baton-lock/service'

/** How many requests of one client are carried out in one turn, before others have theirs. */
const REQUESTS_A_TURN = 100
/** With more frames, or more of their text, the socket is not read. */
const FRAMES_MAX = 8
const CHARS_MAX = 64 * 1024

/** What a client has sent and the server has not done yet: the texts of whole frames, and the rest of a large one. */
export class Inbox {
  /** Called with how many characters more, or fewer, wait. */
  readonly #onWaiting: (change: number) => void
  #frames: string[] = []
  #chars = 0
  #rest: ClientFrame | undefined

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

  /** The rest of the frame that is under way, or else the text of the next one. */
  take(): ClientFrame | string | undefined {
    const rest = this.#rest
    this.#rest = undefined
    if (rest) return rest
    const text = this.#frames.shift()
    if (text !== undefined) this.#weigh(-text.length)
    return text
  }

  /** The frame with as many of its requests as one turn takes. The others are taken next. */
  divide(frame: ClientFrame): ClientFrame {
    const { from = 0, requests = [], keep } = frame
    if (requests.length <= REQUESTS_A_TURN || !requests.every(isStepOrRead)) return frame
    this.#rest = { from: from + REQUESTS_A_TURN, requests: requests.slice(REQUESTS_A_TURN), keep }
    return { ...frame, requests: requests.slice(0, REQUESTS_A_TURN) }
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

/**
 * Steps are taken in the order in which they are asked, and reads wait for them, so others may have their turn in between. What
 * comes after any other request waits for its answer.
 */
function isStepOrRead(input: unknown): boolean {
  const asked = input as ServiceRequest | null
  return asked !== null && (isStepping(asked) || isReading(asked))
}
